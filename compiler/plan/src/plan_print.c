/* Printer of stage plans (`explain --stage plan`). */
#include "compiler/plan/plan.h"
#include <string.h>

static const char *const storages[] = {"input", "column", "constant", "first", "temp", "accumulator", "result"};
static const char *const output_kinds[] = {"fold", "permute", "reduce", "collect", "stream", "value"};

static void print_extent(const loom_plan *p, uint32_t e, FILE *to) {
    const loom_plan_extent *extent = &p->extents[e];
    switch (extent->kind) {
    case LOOM_EXTENT_CONST: fprintf(to, "%lld", (long long)extent->value); break;
    case LOOM_EXTENT_CHUNK: fputs("chunk", to); break;
    case LOOM_EXTENT_INPUT: fprintf(to, "%s#%u", p->buffers[extent->buffer].name, extent->level); break;
    case LOOM_EXTENT_SCALAR: fprintf(to, "(%s)", p->buffers[extent->buffer].name); break;
    case LOOM_EXTENT_SEGMENTED: fprintf(to, "%s", p->buffers[extent->lengths].name); break;
    }
}

static void print_extents(const loom_plan *p, const uint32_t *extents, uint32_t n, FILE *to) {
    for (uint32_t i = 0; i < n; i++) {
        fputc('[', to);
        print_extent(p, extents[i], to);
        fputc(']', to);
    }
}

static void print_buffer_name(const loom_plan *p, uint32_t b, FILE *to) {
    fprintf(to, " %s.b%u", p->buffers[b].name, b);
}

static void print_kernel_action(const loom_plan *p, const loom_plan_action *action, FILE *to) {
    fprintf(to, "kernel %s over ", p->kernels[action->kernel].symbol);
    if (action->extent == LOOM_NO_EXTENT) {
        fputs("1", to);
    } else {
        print_extent(p, action->extent, to);
    }
}

static void print_permute(const loom_plan *p, const loom_plan_action *action, FILE *to) {
    fprintf(to, "permute %s, %s units ", p->kernels[action->kernel].symbol, p->kernels[action->kernel2].symbol);
    print_extents(p, action->unit_extents, action->n_units, to);
    fputs(" patch ", to);
    for (uint32_t d = 0; d < action->rank; d++)
        fprintf(to, "[%lld, %lld)", (long long)action->lower[d], (long long)action->upper[d]);
    fputs(" into", to);
    for (uint32_t i = 0; i < action->n_buffers; i++) print_buffer_name(p, action->buffers[i], to);
}

static void print_action(const loom_plan *p, const loom_plan_action *action, FILE *to) {
    static const char *const simple[] = {
        [LOOM_ACT_ALLOC] = "alloc", [LOOM_ACT_FREE] = "free", [LOOM_ACT_COPY] = "copy",    [LOOM_ACT_FILL] = "fill",
        [LOOM_ACT_SWAP] = "swap",   [LOOM_ACT_IF] = "if",     [LOOM_ACT_APPEND] = "append"};
    switch (action->kind) {
    case LOOM_ACT_BREAK:
        fputs("break unless", to);
        print_buffer_name(p, action->buffer, to);
        if (action->n_buffers) fputs(", and free", to);
        for (uint32_t i = 0; i < action->n_buffers; i++) print_buffer_name(p, action->buffers[i], to);
        break;
    case LOOM_ACT_KERNEL: print_kernel_action(p, action, to); break;
    case LOOM_ACT_REDUCE:
        fprintf(to, "reduce %s, %s over ", p->kernels[action->kernel].symbol, p->kernels[action->kernel2].symbol);
        print_extent(p, action->extent, to);
        fputs(" into", to);
        for (uint32_t i = 0; i < action->n_buffers; i++) print_buffer_name(p, action->buffers[i], to);
        break;
    case LOOM_ACT_FFT:
        fprintf(to, "%sfft ", p->ffts[action->fft].inverse ? "inverse " : "");
        print_extents(p, p->ffts[action->fft].extents, p->ffts[action->fft].rank, to);
        print_buffer_name(p, action->buffer, to);
        print_buffer_name(p, action->buffer2, to);
        break;
    case LOOM_ACT_PERMUTE: print_permute(p, action, to); break;
    case LOOM_ACT_LOOP:
        fputs("loop", to);
        if (action->buffer != LOOM_NO_EXTENT) print_buffer_name(p, action->buffer, to);
        if (action->extent != LOOM_NO_EXTENT) {
            fputs(" below ", to);
            print_extent(p, action->extent, to);
        }
        break;
    case LOOM_ACT_ROWS:
        fputs("rows of", to);
        for (uint32_t i = 0; i < action->n_buffers; i++) print_buffer_name(p, action->buffers[i], to);
        break;
    case LOOM_ACT_OFFSETS:
        fputs("offsets", to);
        print_buffer_name(p, action->buffer, to);
        print_buffer_name(p, action->buffer2, to);
        print_buffer_name(p, action->buffers[0], to);
        break;
    case LOOM_ACT_SORT:
        fputs("sort", to);
        print_buffer_name(p, action->buffer, to);
        fputs(" by", to);
        for (uint32_t i = 0; i < action->n_buffers; i++) print_buffer_name(p, action->buffers[i], to);
        break;
    default:
        fputs(simple[action->kind], to);
        print_buffer_name(p, action->buffer, to);
        bool pair = action->kind == LOOM_ACT_COPY || action->kind == LOOM_ACT_SWAP || action->kind == LOOM_ACT_APPEND;
        if (pair) print_buffer_name(p, action->buffer2, to);
    }
    if (action->label) fprintf(to, "  -- %s", action->label);
    fputc('\n', to);
}

static void print_actions(const loom_plan *p, uint32_t begin, uint32_t end, int depth, FILE *to) {
    for (uint32_t a = begin; a < end;) {
        const loom_plan_action *action = &p->actions[a];
        if (depth == 0 && a == p->chunk_begin && p->kind == LOOM_STAGE_TRAVERSAL) fputs("each chunk:\n", to);
        fprintf(to, "%*s", 2 + 2 * depth, "");
        print_action(p, action, to);
        print_actions(p, a + 1, a + 1 + action->n_inner, depth + 1, to);
        if (action->n_else) {
            fprintf(to, "%*selse\n", 2 + 2 * depth, "");
            print_actions(p, a + 1 + action->n_inner, a + 1 + action->n_inner + action->n_else, depth + 1, to);
        }
        a += 1 + action->n_inner + action->n_else;
    }
}

void loom_plan_print(const loom_plan *p, FILE *to) {
    static const char *const kinds[] = {"traversal", "array", "whole"};
    /* "triple;cpu;features": the features fill pages. */
    size_t triple = strcspn(p->target, ";");
    size_t shown = triple + (p->target[triple] ? 1 + strcspn(p->target + triple + 1, ";") : 0);
    fprintf(to, "plan of a stage of kind %s for %.*s\n", kinds[p->kind], (int)shown, p->target);
    for (uint32_t b = 0; b < p->n_buffers; b++) {
        const loom_plan_buffer *buffer = &p->buffers[b];
        fprintf(to, "buffer b%u %s: ", b, buffer->name);
        print_extents(p, buffer->extents, buffer->n_extents, to);
        fprintf(to, "%s %s", loom_dtype_name(buffer->dtype), storages[buffer->storage]);
        if (buffer->storage <= LOOM_STORE_CONSTANT) fprintf(to, " %u.%u", buffer->source, buffer->leaf);
        fputc('\n', to);
    }
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const loom_plan_kernel *kernel = &p->kernels[k];
        if (!kernel->scratch && !kernel->scratch_kind) continue;
        fprintf(to, "kernel %s: scratch %llu bytes", kernel->symbol, (unsigned long long)kernel->scratch);
        if (kernel->scratch_kind) {
            fprintf(to, " + %llu * ", (unsigned long long)kernel->scratch_per);
            print_extent(p, kernel->scratch_extent, to);
        }
        fputc('\n', to);
    }
    print_actions(p, 0, p->n_actions, 0, to);
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        const loom_plan_output *out = &p->outputs[o];
        fprintf(to, "output %u: %s%s", o, output_kinds[out->kind],
                out->order == LOOM_ORDER_ADJACENT ? " adjacent" : "");
        for (uint32_t l = 0; l < out->n_leaves; l++) print_buffer_name(p, out->buffers[l], to);
        if (out->combine != LOOM_NO_KERNEL) fprintf(to, " combine %s", p->kernels[out->combine].symbol);
        fputc('\n', to);
    }
    fprintf(to, "per element: %.0f bytes, %.0f ns\n", p->bytes_per_element, p->cost_per_element);
}
