#include "run.h"
#include "common/buffer.h"
#include "common/order.h"
#include "loom_test.h"
#include <complex.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>

#define SCRATCH_BYTES (8 << 20)

const char *host_target(void) {
    static char *target;
    if (target) return target;
    char *triple = LLVMGetDefaultTargetTriple(), *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    target = loom_xprintf("%s;%s;%s", triple, cpu, features);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return target;
}

static void must(LLVMErrorRef error) {
    if (!error) return;
    char *message = LLVMGetErrorMessage(error);
    loom_test_fail(__FILE__, __LINE__, "LLVM: %s", message);
}

static void looked_up(LLVMErrorRef error, LLVMOrcCSymbolMapPairs pairs, size_t n, void *context) {
    must(error);
    machine *m = context;
    for (size_t p = 0; p < n; p++) {
        for (uint32_t k = 0; k < m->plan->n_kernels; k++) {
            if (strcmp(LLVMOrcSymbolStringPoolEntryStr(pairs[p].Name), m->plan->kernels[k].symbol) == 0)
                m->kernels[k] = (void *)pairs[p].Sym.Address;
        }
    }
}

static void link_object(machine *m, const loom_code_result *code) {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMOrcLLJITRef jit;
    must(LLVMOrcCreateLLJIT(&jit, NULL));
    m->jit = jit;
    LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(jit);
    LLVMOrcJITDylibRef library = LLVMOrcExecutionSessionCreateBareJITDylib(session, "kernels");
    static const char *const names[] = {"memcpy", "memset", "memmove"};
    void *addresses[] = {(void *)memcpy, (void *)memset, (void *)memmove};
    LLVMOrcCSymbolMapPair pairs[3];
    for (int i = 0; i < 3; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, names[i]);
        pairs[i].Sym.Address = (LLVMOrcExecutorAddress)addresses[i];
        pairs[i].Sym.Flags = (LLVMJITSymbolFlags){LLVMJITSymbolGenericFlagsExported, 0};
    }
    must(LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(pairs, 3)));
    must(LLVMOrcLLJITAddObjectFile(jit, library,
                                   LLVMCreateMemoryBufferWithMemoryRangeCopy(code->object, code->object_length, "o")));
    LLVMOrcCLookupSetElement *set = calloc(m->plan->n_kernels + 1, sizeof *set);
    for (uint32_t k = 0; k < m->plan->n_kernels; k++) {
        set[k].Name = LLVMOrcLLJITMangleAndIntern(jit, m->plan->kernels[k].symbol);
        set[k].LookupFlags = LLVMOrcSymbolLookupFlagsRequiredSymbol;
    }
    LLVMOrcCJITDylibSearchOrderElement order = {library, LLVMOrcJITDylibLookupFlagsMatchAllSymbols};
    if (m->plan->n_kernels)
        LLVMOrcExecutionSessionLookup(session, LLVMOrcLookupKindStatic, &order, 1, set, m->plan->n_kernels, looked_up,
                                      m);
    free(set);
}

static void raise_error(const loom_kernel_frame *frame, uint32_t site, int64_t element, int64_t a, int64_t b) {
    loom_kernel_error *e = frame->error;
    if (!e->raised || element < e->element) *e = (loom_kernel_error){element, site, 1, a, b};
}

/* ---- transforms by the definition, one level after another ---- */

static double complex get(loom_dtype t, const void *data, int64_t i) {
    return t == LOOM_C64 ? (double complex)((const float complex *)data)[i] : ((const double complex *)data)[i];
}

static void put(loom_dtype t, void *data, int64_t i, double complex v) {
    if (t == LOOM_C64) {
        ((float complex *)data)[i] = (float complex)v;
    } else {
        ((double complex *)data)[i] = v;
    }
}

static void transform_level(loom_dtype t, void *data, int64_t outer, int64_t n, int64_t stride, bool inverse) {
    double complex *row = malloc((size_t)n * sizeof *row);
    for (int64_t o = 0; o < outer * stride; o++) {
        int64_t base = o / stride * n * stride + o % stride;
        for (int64_t k = 0; k < n; k++) {
            row[k] = 0;
            for (int64_t j = 0; j < n; j++) {
                double angle = (inverse ? 2 : -2) * M_PI * (double)(j * k % n) / (double)n;
                row[k] += get(t, data, base + j * stride) * (cos(angle) + I * sin(angle));
            }
        }
        for (int64_t k = 0; k < n; k++) put(t, data, base + k * stride, inverse ? row[k] / (double)n : row[k]);
    }
    free(row);
}

static void transform(const machine *m, uint32_t f, const void *in, void *out, int64_t batch) {
    const loom_plan_fft *fft = &m->plan->ffts[f];
    int64_t size = 1, stride = 1;
    for (uint32_t i = 0; i < fft->rank; i++) size *= m->extents[fft->extents[i]];
    if (!size || !batch) return;
    if (in != out) memcpy(out, in, (size_t)(batch * size) * loom_dtype_size(fft->dtype));
    for (uint32_t i = fft->rank; i-- > 0;) {
        int64_t n = m->extents[fft->extents[i]];
        transform_level(fft->dtype, out, batch * size / n / stride, n, stride, fft->inverse);
        stride *= n;
    }
}

static void strip_fft(const loom_kernel_frame *frame, uint32_t fft, const void *in, void *out, int64_t batch) {
    transform(frame->executor, fft, in, out, batch);
}

static const loom_kernel_runtime runtime = {raise_error, strip_fft};

/* ---- life ---- */

machine m_open(loom_arena *arena, const loom_lifted *l) {
    loom_code_result code;
    machine m = {.piece = 7};
    LOOM_OK(loom_codegen(arena, l, host_target(), true, true, &code));
    if (getenv("LOOM_TEST_IR")) {
        fputs(code.llvm_text, stderr);
        loom_plan_print(code.plan, stderr);
    }
    m.plan = code.plan;
    m.kernels = calloc(code.plan->n_kernels + 1, sizeof *m.kernels);
    m.data = calloc(code.plan->n_buffers + 1, sizeof *m.data);
    m.filled = calloc(code.plan->n_buffers + 1, sizeof *m.filled);
    m.extents = calloc(code.plan->n_extents + 1, sizeof *m.extents);
    for (uint32_t e = 0; e < code.plan->n_extents; e++) m.extents[e] = code.plan->extents[e].value;
    m.scratch = aligned_alloc(64, SCRATCH_BYTES);
    link_object(&m, &code);
    free(code.object);
    free(code.llvm_text);
    return m;
}

void m_close(machine *m) {
    for (uint32_t b = 0; b < m->plan->n_buffers; b++) {
        if (m->plan->buffers[b].storage >= LOOM_STORE_TEMP) free(m->data[b]);
    }
    must(LLVMOrcDisposeLLJIT(m->jit));
    free(m->kernels);
    free(m->data);
    free(m->filled);
    free(m->extents);
    free(m->scratch);
}

void m_bind(machine *m, loom_storage storage, uint32_t source, void *data) {
    for (uint32_t b = 0; b < m->plan->n_buffers; b++) {
        if (m->plan->buffers[b].storage == storage && m->plan->buffers[b].source == source) m->data[b] = data;
    }
}

void m_extent(machine *m, loom_storage storage, uint32_t source, uint32_t level, int64_t extent) {
    for (uint32_t e = 0; e < m->plan->n_extents; e++) {
        const loom_plan_extent *x = &m->plan->extents[e];
        if (x->kind != LOOM_EXTENT_INPUT || x->level != level) continue;
        const loom_plan_buffer *b = &m->plan->buffers[x->buffer];
        if (b->storage == storage && b->source == source) m->extents[e] = extent;
    }
}

static int64_t count_of(const machine *m, uint32_t b) {
    int64_t n = 1;
    for (uint32_t i = 0; i < m->plan->buffers[b].n_extents; i++) {
        uint32_t e = m->plan->buffers[b].extents[i];
        n = m->plan->extents[e].kind == LOOM_EXTENT_SEGMENTED ? m->extents[e] : n * m->extents[e];
    }
    return n;
}

static size_t bytes_of(const machine *m, uint32_t b) {
    int64_t more = m->plan->buffers[b].offsets ? LOOM_OFFSETS_MORE : 0;
    return (size_t)(count_of(m, b) + more) * loom_dtype_size(m->plan->buffers[b].dtype);
}

static void *allocate(const machine *m, uint32_t b) {
    size_t bytes = (bytes_of(m, b) + 127) & ~(size_t)63;
    void *data = aligned_alloc(64, bytes);
    memset(data, 0x55, bytes);
    return data;
}

static void append(machine *m, uint32_t from, uint32_t to) {
    size_t bytes = (size_t)bytes_of(m, from), before = m->filled[to];
    char *data = aligned_alloc(64, (before + bytes + 127) & ~(size_t)63);
    memcpy(data, m->data[to], before);
    memcpy(data + before, m->data[from], bytes);
    free(m->data[to]);
    m->data[to] = data;
    m->filled[to] = before + bytes;
}

static void set_scalar_extents(machine *m) {
    for (uint32_t e = 0; e < m->plan->n_extents; e++) {
        const loom_plan_extent *x = &m->plan->extents[e];
        bool computed = x->kind == LOOM_EXTENT_SCALAR || x->kind == LOOM_EXTENT_SEGMENTED;
        if (computed && m->data[x->buffer]) m->extents[e] = *(int64_t *)m->data[x->buffer];
    }
}

/* ---- actions ---- */

static void run_kernel(machine *m, const loom_plan_action *a) {
    loom_kernel_range kernel = (loom_kernel_range)m->kernels[a->kernel];
    LOOM_CHECK(m->plan->kernels[a->kernel].scratch <= SCRATCH_BYTES);
    int64_t n = a->extent == LOOM_NO_EXTENT ? 1 : m->extents[a->extent];
    for (int64_t from = 0; from < n; from += m->piece)
        kernel(&m->frame, from, from + m->piece < n ? from + m->piece : n);
}

static void run_reduce(machine *m, const loom_plan_action *a) {
    loom_kernel_reduce kernel = (loom_kernel_reduce)m->kernels[a->kernel];
    loom_kernel_combine combine = (loom_kernel_combine)m->kernels[a->kernel2];
    int64_t n = m->extents[a->extent];
    void **into = calloc(a->n_buffers, sizeof *into), **partial = calloc(a->n_buffers, sizeof *partial);
    for (uint32_t i = 0; i < a->n_buffers; i++) {
        into[i] = m->data[a->buffers[i]];
        partial[i] = allocate(m, a->buffers[i]);
    }
    kernel(&m->frame, 0, m->piece < n ? m->piece : n, into);
    for (int64_t from = m->piece; from < n; from += m->piece) {
        kernel(&m->frame, from, from + m->piece < n ? from + m->piece : n, partial);
        combine(&m->frame, into, partial, 0, count_of(m, a->buffers[0]));
    }
    for (uint32_t i = 0; i < a->n_buffers; i++) free(partial[i]);
    free(into);
    free(partial);
}

/* Of rows: a piece's part of a row that has begun before it comes to that row. */
static void run_reduce_rows(machine *m, const loom_plan_action *a) {
    int64_t n = m->extents[a->extent], row = 0;
    const int64_t *offsets = m->data[a->buffer];
    void **into = calloc(a->n_buffers, sizeof *into), **partial = calloc(a->n_buffers, sizeof *partial);
    for (uint32_t i = 0; i < a->n_buffers; i++) partial[i] = malloc(16);
    for (int64_t from = 0; from < n; from += m->piece) {
        ((loom_kernel_reduce)m->kernels[a->kernel])(&m->frame, from, from + m->piece < n ? from + m->piece : n,
                                                    partial);
        while (offsets[row + 1] <= from) row++;
        if (offsets[row] == from) continue;
        for (uint32_t i = 0; i < a->n_buffers; i++)
            into[i] =
                (char *)m->data[a->buffers[i]] + (size_t)row * loom_dtype_size(m->plan->buffers[a->buffers[i]].dtype);
        ((loom_kernel_combine)m->kernels[a->kernel2])(&m->frame, into, partial, 0, 1);
    }
    for (uint32_t i = 0; i < a->n_buffers; i++) free(partial[i]);
    free(into);
    free(partial);
}

static void run_permute(machine *m, const loom_plan_action *a) {
    int64_t units = 1, kept = 0;
    for (uint32_t i = 0; i < a->n_units; i++) units *= m->extents[a->unit_extents[i]];
    int64_t *base = calloc((size_t)units * a->rank + 1, sizeof *base), *list = calloc((size_t)units + 1, sizeof *list);
    for (int64_t from = 0; from < units; from += m->piece) {
        int64_t to = from + m->piece < units ? from + m->piece : units;
        ((loom_kernel_inspect)m->kernels[a->kernel])(&m->frame, from, to, base + from * a->rank);
    }
    for (int64_t u = 0; u < units; u++) {
        if (base[u * a->rank] == LOOM_DROPPED) continue;
        for (uint32_t d = 0; d < a->rank; d++) base[kept * a->rank + d] = base[u * a->rank + d];
        list[kept++] = u;
    }
    ((loom_kernel_execute)m->kernels[a->kernel2])(&m->frame, list, kept, base);
    free(base);
    free(list);
}

static void run_offsets(machine *m, const loom_plan_action *a) {
    const int64_t *lengths = m->data[a->buffer];
    int64_t n = count_of(m, a->buffer), sum = 0, *offsets = m->data[a->buffer2];
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = sum;
        sum += lengths[i];
    }
    offsets[n] = offsets[n + 1] = *(int64_t *)m->data[a->buffers[0]] = sum;
}

static bool is_before(const machine *m, const loom_plan_action *a, int64_t x, int64_t y) {
    for (uint32_t k = 0; k < a->n_buffers; k++) {
        loom_dtype t = m->plan->buffers[a->buffers[k]].dtype;
        const char *data = m->data[a->buffers[k]];
        size_t size = loom_dtype_size(t);
        uint64_t p = loom_order_word(t, loom_scalar_load(t, data + (size_t)x * size));
        uint64_t q = loom_order_word(t, loom_scalar_load(t, data + (size_t)y * size));
        if (p != q) return p < q;
    }
    return false;
}

static void run_sort(machine *m, const loom_plan_action *a) {
    const loom_plan_buffer *to = &m->plan->buffers[a->buffer];
    const int64_t *offsets = a->buffer2 != LOOM_NO_EXTENT ? m->data[a->buffer2] : NULL;
    int64_t *places = m->data[a->buffer], n = count_of(m, a->buffer), begin = 0;
    for (int64_t list = 0; begin < n; list++) {
        int64_t end = offsets ? offsets[list + 1] : begin + m->extents[to->extents[to->n_extents - 1]];
        for (int64_t i = begin; i < end; i++) {
            int64_t j = i;
            for (; j > begin && is_before(m, a, i, begin + places[j - 1]); j--) places[j] = places[j - 1];
            places[j] = i - begin;
        }
        begin = end;
    }
}

static void run_actions(machine *m, uint32_t begin, uint32_t end, bool *left);

static void run_action(machine *m, uint32_t at, bool *left) {
    const loom_plan_action *a = &m->plan->actions[at];
    void *data;
    switch (a->kind) {
    case LOOM_ACT_ALLOC:
        free(m->data[a->buffer]); /* what a loop left behind that was broken out of */
        m->data[a->buffer] = allocate(m, a->buffer);
        m->filled[a->buffer] = 0;
        break;
    case LOOM_ACT_FREE:
        free(m->data[a->buffer]);
        m->data[a->buffer] = NULL;
        break;
    case LOOM_ACT_KERNEL: run_kernel(m, a); break;
    case LOOM_ACT_REDUCE:
        if (m->plan->extents[a->extent].kind == LOOM_EXTENT_SEGMENTED) {
            run_reduce_rows(m, a);
        } else {
            run_reduce(m, a);
        }
        break;
    case LOOM_ACT_FFT: {
        int64_t size = 1;
        for (uint32_t i = 0; i < m->plan->ffts[a->fft].rank; i++) size *= m->extents[m->plan->ffts[a->fft].extents[i]];
        if (size) transform(m, a->fft, m->data[a->buffer], m->data[a->buffer2], count_of(m, a->buffer) / size);
        break;
    }
    case LOOM_ACT_PERMUTE: run_permute(m, a); break;
    case LOOM_ACT_COPY: memcpy(m->data[a->buffer2], m->data[a->buffer], bytes_of(m, a->buffer)); break;
    case LOOM_ACT_APPEND: append(m, a->buffer, a->buffer2); break;
    case LOOM_ACT_FILL:
        for (int64_t i = 0; i < count_of(m, a->buffer); i++) {
            loom_dtype t = m->plan->buffers[a->buffer].dtype;
            loom_scalar_store(t, a->value, (char *)m->data[a->buffer] + (size_t)i * loom_dtype_size(t));
        }
        break;
    case LOOM_ACT_LOOP: {
        int64_t n = a->extent == LOOM_NO_EXTENT ? INT64_MAX : m->extents[a->extent];
        bool out = false;
        for (int64_t turn = 0; turn < n && !out; turn++) {
            if (a->buffer != LOOM_NO_EXTENT) *(int64_t *)m->data[a->buffer] = turn;
            run_actions(m, at + 1, at + 1 + a->n_inner, &out);
        }
        break;
    }
    case LOOM_ACT_BREAK: *left = !*(bool *)m->data[a->buffer]; break;
    case LOOM_ACT_IF:
        if (*(bool *)m->data[a->buffer]) {
            run_actions(m, at + 1, at + 1 + a->n_inner, left);
        } else {
            run_actions(m, at + 1 + a->n_inner, at + 1 + a->n_inner + a->n_else, left);
        }
        break;
    case LOOM_ACT_ROWS:
        for (uint32_t i = 0; i < a->n_buffers; i++) m->data[a->buffers[i]] = allocate(m, a->buffers[i]);
        run_actions(m, at + 1, at + 1 + a->n_inner, left);
        for (uint32_t i = 0; i < a->n_buffers; i++) {
            free(m->data[a->buffers[i]]);
            m->data[a->buffers[i]] = NULL;
        }
        break;
    case LOOM_ACT_SWAP:
        data = m->data[a->buffer];
        m->data[a->buffer] = m->data[a->buffer2];
        m->data[a->buffer2] = data;
        break;
    case LOOM_ACT_OFFSETS: run_offsets(m, a); break;
    case LOOM_ACT_SORT: run_sort(m, a); break;
    }
}

static void run_actions(machine *m, uint32_t begin, uint32_t end, bool *left) {
    for (uint32_t at = begin; at < end && !*left && !m->error.raised;) {
        const loom_plan_action *a = &m->plan->actions[at];
        run_action(m, at, left);
        set_scalar_extents(m);
        at += 1 + a->n_inner + a->n_else;
    }
}

void m_run(machine *m, int64_t chunk) {
    m->chunk = chunk;
    m->error = (loom_kernel_error){0};
    static const unsigned char wanted = 0;
    m->frame = (loom_kernel_frame){.stop = &wanted,
                                   .buffers = m->data,
                                   .extents = m->extents,
                                   .scratch = m->scratch,
                                   .error = &m->error,
                                   .runtime = &runtime,
                                   .executor = m,
                                   .work = &m->work};
    m->work = (loom_kernel_work){0};
    for (uint32_t e = 0; e < m->plan->n_extents; e++) {
        if (m->plan->extents[e].kind == LOOM_EXTENT_CHUNK) m->extents[e] = chunk;
    }
    set_scalar_extents(m);
    for (uint32_t o = 0; o < m->plan->n_outputs; o++) {
        const loom_plan_output *out = &m->plan->outputs[o];
        for (uint32_t l = 0; out->kind == LOOM_OUT_PERMUTE && l < out->n_leaves; l++) {
            uint32_t b = out->buffers[l];
            loom_dtype t = m->plan->buffers[b].dtype;
            free(m->data[b]);
            m->data[b] = allocate(m, b);
            for (int64_t i = 0; i < count_of(m, b); i++)
                loom_scalar_store(t, out->neutral[l], (char *)m->data[b] + (size_t)i * loom_dtype_size(t));
        }
    }
    bool left = false;
    run_actions(m, 0, m->plan->n_actions, &left);
}

void *m_output(machine *m, uint32_t output) {
    return m->data[m->plan->outputs[output].buffers[0]];
}
