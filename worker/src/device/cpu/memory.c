#include "device/cpu/memory.h"
#include "common/buffer.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT ((uint64_t)64)
/* From here on blocks are mappings of their own, in whole huge pages of x86-64 and arm64. */
#define HUGE_PAGE ((uint64_t)2 << 20)
/* Blocks kept for reuse. A plan has rarely more buffers than this; the search through them is linear. */
#define MAX_KEPT 256u

/* used + kept_bytes + lent <= budget, all under the lock; of these only `used` is what nobody else can have. */
struct loom_memory {
    uint32_t references;
    uint64_t budget;
    pthread_mutex_t lock;
    uint64_t used, kept_bytes, lent;
    uint64_t peak; /* of `used` */
    loom_reclaim reclaim;
    void *context;
    uint32_t n_kept;
    loom_block kept[MAX_KEPT]; /* the oldest first */
};

loom_memory *loom_memory_create(uint64_t budget) {
    loom_memory *memory = loom_xcalloc(1, sizeof *memory);
    memory->references = 1;
    memory->budget = budget;
    pthread_mutex_init(&memory->lock, NULL);
    return memory;
}

loom_memory *loom_memory_ref(loom_memory *memory) {
    __atomic_fetch_add(&memory->references, 1, __ATOMIC_RELAXED);
    return memory;
}

static void release(loom_block block) {
    if (block.bytes >= HUGE_PAGE) {
        munmap(block.data, block.bytes);
    } else {
        free(block.data);
    }
}

static void drop_kept(loom_memory *memory, uint32_t i) {
    memory->kept_bytes -= memory->kept[i].bytes;
    release(memory->kept[i]);
    memmove(&memory->kept[i], &memory->kept[i + 1], (--memory->n_kept - i) * sizeof *memory->kept);
}

void loom_memory_unref(loom_memory *memory) {
    if (!memory || __atomic_sub_fetch(&memory->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    while (memory->n_kept) drop_kept(memory, memory->n_kept - 1);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

uint64_t loom_memory_rounded(uint64_t bytes) {
    uint64_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
    return bytes ? (bytes + unit - 1) / unit * unit : ALIGNMENT;
}

/* A mapping aligned to huge pages: one page more is mapped and the ends are cut off. Fresh pages are zero. */
static void *map_aligned(uint64_t bytes) {
    char *raw =
        mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    uint64_t head = (HUGE_PAGE - (uintptr_t)raw % HUGE_PAGE) % HUGE_PAGE;
    if (head) munmap(raw, head);
    if (HUGE_PAGE - head) munmap(raw + head + bytes, HUGE_PAGE - head);
    (void)madvise(raw + head, bytes, MADV_HUGEPAGE);
    return raw + head;
}

static loom_status *too_large(const loom_memory *memory, uint64_t bytes, const char *what) {
    char need[32], used[32], budget[32];
    return loom_status_note(loom_error(LOOM_E_MEMORY, "%s needs %s; %s of the %s that this worker may use are taken",
                                       what, loom_bytes_text((double)bytes, need),
                                       loom_bytes_text((double)memory->used, used),
                                       loom_bytes_text((double)memory->budget, budget)),
                            "hint: give the worker more memory (--memory), or make the blocks or the target smaller");
}

/* The smallest kept block that holds `bytes` without wasting more than a quarter. */
static bool take_kept(loom_memory *memory, uint64_t bytes, loom_block *block) {
    uint32_t best = MAX_KEPT;
    for (uint32_t i = 0; i < memory->n_kept; i++) {
        uint64_t have = memory->kept[i].bytes;
        if (have < bytes || have - bytes > bytes / 4 || have > memory->budget - memory->used) continue;
        if (best == MAX_KEPT || have < memory->kept[best].bytes) best = i;
    }
    if (best == MAX_KEPT) return false;
    *block = memory->kept[best];
    memory->kept_bytes -= block->bytes;
    memmove(&memory->kept[best], &memory->kept[best + 1], (--memory->n_kept - best) * sizeof *memory->kept);
    return true;
}

static void get(loom_block *block) {
    block->fresh = block->bytes >= HUGE_PAGE;
    block->data = block->fresh ? map_aligned(block->bytes) : aligned_alloc(ALIGNMENT, block->bytes);
}

static bool fits(const loom_memory *memory, uint64_t bytes) {
    return bytes <= memory->budget && memory->used <= memory->budget - bytes;
}

/* What is lent comes back as far as it stands in the way. Under the lock, which is left meanwhile. */
static void call_back(loom_memory *memory, uint64_t bytes) {
    while (fits(memory, bytes) && memory->lent > memory->budget - memory->used - bytes) {
        uint64_t wanted = memory->used + bytes + memory->lent - memory->budget;
        pthread_mutex_unlock(&memory->lock);
        memory->reclaim(memory->context, wanted);
        pthread_mutex_lock(&memory->lock);
    }
}

/* Charges `bytes` (rounded) to the budget and finds a kept block if there is one. Under the lock. */
static loom_status *reserve(loom_memory *memory, uint64_t bytes, const char *what, loom_block *block) {
    call_back(memory, bytes);
    if (!fits(memory, bytes)) return too_large(memory, bytes, what);
    if (!take_kept(memory, bytes, block)) {
        while (memory->n_kept && memory->used + bytes + memory->kept_bytes + memory->lent > memory->budget) {
            drop_kept(memory, 0);
        }
        block->bytes = bytes;
    }
    memory->used += block->bytes;
    if (memory->used > memory->peak) memory->peak = memory->used;
    return NULL;
}

loom_status *loom_memory_take(loom_memory *memory, uint64_t bytes, const char *what, loom_block *block) {
    if (bytes > INT64_MAX - HUGE_PAGE) return loom_error(LOOM_E_LIMIT, "%s would be larger than 2^63 bytes", what);
    loom_block got = {0};
    pthread_mutex_lock(&memory->lock);
    loom_status *status = reserve(memory, loom_memory_rounded(bytes), what, &got);
    pthread_mutex_unlock(&memory->lock);
    if (status) return status;
    if (!got.data) get(&got);
    if (!got.data) {
        pthread_mutex_lock(&memory->lock);
        memory->used -= got.bytes;
        pthread_mutex_unlock(&memory->lock);
        return loom_error(LOOM_E_MEMORY, "no memory for %s: %" PRIu64 " bytes", what, bytes);
    }
    *block = got;
    return NULL;
}

void loom_memory_give(loom_memory *memory, loom_block *block) {
    if (!block->data) return;
    pthread_mutex_lock(&memory->lock);
    memory->used -= block->bytes;
    if (memory->n_kept == MAX_KEPT) drop_kept(memory, 0);
    block->fresh = false;
    memory->kept[memory->n_kept++] = *block;
    memory->kept_bytes += block->bytes;
    pthread_mutex_unlock(&memory->lock);
    *block = (loom_block){0};
}

bool loom_memory_lend(loom_memory *memory, uint64_t bytes) {
    pthread_mutex_lock(&memory->lock);
    uint64_t taken = memory->used + memory->kept_bytes + memory->lent;
    bool fits = memory->reclaim && taken <= memory->budget && bytes <= memory->budget - taken;
    if (fits) memory->lent += bytes;
    pthread_mutex_unlock(&memory->lock);
    return fits;
}

void loom_memory_return(loom_memory *memory, uint64_t bytes) {
    pthread_mutex_lock(&memory->lock);
    memory->lent -= bytes;
    pthread_mutex_unlock(&memory->lock);
}

void loom_memory_set_reclaim(loom_memory *memory, loom_reclaim reclaim, void *context) {
    memory->reclaim = reclaim;
    memory->context = context;
}

uint64_t loom_memory_budget(const loom_memory *memory) {
    return memory->budget;
}

uint64_t loom_memory_take_peak(loom_memory *memory) {
    pthread_mutex_lock(&memory->lock);
    uint64_t peak = memory->peak;
    memory->peak = memory->used;
    pthread_mutex_unlock(&memory->lock);
    return peak;
}

uint64_t loom_memory_used(const loom_memory *memory) {
    loom_memory *m = (loom_memory *)(uintptr_t)memory;
    pthread_mutex_lock(&m->lock);
    uint64_t used = m->used;
    pthread_mutex_unlock(&m->lock);
    return used;
}
