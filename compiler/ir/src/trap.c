#include "compiler/ir/trap.h"
#include "common/buffer.h"
#include "compiler/ir/prim.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* " (FILE:LINE:COLUMN)" of a node's text, or "". */
static const char *place_of(loom_arena *arena, const loom_program *p, loom_node_id id) {
    loom_span s = p->nodes[id].span;
    if (s.line == 0 || s.file >= p->n_files) return "";
    return loom_arena_printf(arena, " (%s:%" PRIu32 ":%" PRIu32 ")", p->files[s.file].name, s.line, s.column);
}

/* Both sizes and where each comes from. */
static const char *claim_format(loom_arena *arena, const loom_program *p, const loom_node *n, uint32_t claim) {
    uint32_t level = 0;
    for (uint32_t seen = 0; level < 31; level++) {
        if ((n->aux >> level & 1) && seen++ == claim) break;
    }
    const char *from = place_of(arena, p, loom_operand(p, n, claim + 1));
    const char *of = place_of(arena, p, loom_operand(p, n, 0));
    return loom_arena_printf(arena, "a length of {b} is claimed at level %" PRIu32 "%s, found {a}%s", level, from, of);
}

static bool is_shift(const loom_node *n) {
    return n->prim == LOOM_PRIM_SHL || n->prim == LOOM_PRIM_SHR || n->prim == LOOM_PRIM_LSHR;
}

static const char *prim_format(loom_arena *arena, const loom_node *n) {
    const char *name = n->prim == LOOM_PRIM_FLOORDIV ? "/" : loom_prim_table[n->prim].name;
    return loom_arena_printf(
        arena, is_shift(n) ? "shift by {a} in `%s`, which is negative" : "division by zero in `%s`", name);
}

static loom_trap_text lengths_that_differ(const loom_node *n) {
    static const char *const hint = "lengths must agree; `take` cuts the longer one";
    switch ((loom_op)n->op) {
    case LOOM_OP_ZIP: return (loom_trap_text){LOOM_TRAP_CODE_LENGTHS, "zip of arrays of lengths {a} and {b}", hint};
    case LOOM_OP_PERMUTE:
    case LOOM_OP_SCATTER:
    case LOOM_OP_SEQ_PERMUTE:
        return (loom_trap_text){LOOM_TRAP_CODE_PLACES, "indices and values differ in shape: {a} and {b} elements",
                                "there must be one index for each value"};
    case LOOM_OP_SEQ_MAP: return (loom_trap_text){LOOM_TRAP_CODE_STREAMS, LOOM_TRAP_STREAMS_FORMAT, NULL};
    default: return (loom_trap_text){LOOM_TRAP_CODE_LENGTHS, "zip_with over arrays of lengths {a} and {b}", hint};
    }
}

static loom_trap_text slice_text(loom_trap trap, bool down) {
    const char *hint = down ? "with a negative step, expected -1 <= to <= from < length; what is not is out of bounds"
                            : "expected 0 <= from <= to <= length; what is not is out of bounds";
    if (trap == LOOM_TRAP_SLICE_ORDER) return (loom_trap_text){LOOM_TRAP_CODE_SLICE, "slice from {a} to {b}", hint};
    return (loom_trap_text){
        LOOM_TRAP_CODE_SLICE,
        down ? "slice from {a} of an array of length {b}" : "slice up to {a} of an array of length {b}", hint};
}

static loom_trap_text assertion_text(loom_arena *arena, const loom_node *n) {
    switch ((loom_assertion)LOOM_ASSERTION(n->aux)) {
    case LOOM_ASSERT_RANGE:
        return (loom_trap_text){LOOM_TRAP_CODE_RANGE, "a range that ends before it begins",
                                "`..<` and `...` go up, `..>` goes down; `max` keeps the end from passing the start"};
    case LOOM_ASSERT_RANGE_STEP:
        return (loom_trap_text){LOOM_TRAP_CODE_RANGE,
                                "a range whose second element does not lie beyond its first in its direction",
                                "`a..s..<b` goes up by s - a, `a..s..>b` down by a - s"};
    case LOOM_ASSERT_UPDATE:
        return (loom_trap_text){LOOM_TRAP_CODE_UPDATE,
                                "an update of a slice that is not inside its array, or by another number of values",
                                "`xs with [from:to] = ys` takes to - from values, 0 <= from <= to <= length xs; what "
                                "is not is out of bounds"};
    case LOOM_ASSERT_GROUPS:
    case LOOM_ASSERT_GROUPS_MAP:
        return (loom_trap_text){LOOM_TRAP_CODE_GROUPS,
                                n->aux == LOOM_ASSERT_GROUPS ? "group_seq with {a} groups, expected 0 or more"
                                                             : "group_map_seq with {a} groups, expected 0 or more",
                                "groups are numbered from 0 to n - 1"};
    case LOOM_ASSERT_GROUPS_FIT:
        return (loom_trap_text){
            LOOM_TRAP_CODE_GROUPS_FIT,
            loom_arena_printf(arena,
                              "group_seq with {a} groups: their results, of %" PRIu32
                              " bytes each at least, need more memory than a worker has",
                              n->aux >> LOOM_ASSERT_BYTES_SHIFT),
            "give the worker more memory (--memory), or fold the results (`fold_seq`) rather than keep them"};
    default: return (loom_trap_text){LOOM_TRAP_CODE_ASSERTION, "assertion failed", NULL};
    }
}

static loom_trap_text describe(loom_arena *arena, const loom_program *p, const loom_node *n, loom_trap trap,
                               uint32_t detail) {
    switch (trap) {
    case LOOM_TRAP_INDEX:
        return (loom_trap_text){LOOM_TRAP_CODE_INDEX, "index {a} is outside an array of length {b}",
                                n->op == LOOM_OP_GATHER
                                    ? "indices go from 0 to the length - 1, others are out of bounds; `backpermute` "
                                      "leaves what is outside"
                                    : "indices go from 0 to the length - 1, others are out of bounds"};
    case LOOM_TRAP_CLAIM:
        return (loom_trap_text){LOOM_TRAP_CODE_CLAIM, claim_format(arena, p, n, detail),
                                "level 0 is the outermost; leave the size out of the type to claim nothing"};
    case LOOM_TRAP_PRIM:
        return (loom_trap_text){is_shift(n) ? LOOM_TRAP_CODE_SHIFT : LOOM_TRAP_CODE_DIVISION, prim_format(arena, n),
                                "test for it before, with `if` or `filter`"};
    case LOOM_TRAP_ASSERT: return assertion_text(arena, n);
    case LOOM_TRAP_LENGTHS: return lengths_that_differ(n);
    case LOOM_TRAP_SLICE_ORDER:
    case LOOM_TRAP_SLICE_END: return slice_text(trap, detail != 0);
    case LOOM_TRAP_SLICE_STEP:
        return (loom_trap_text){LOOM_TRAP_CODE_SLICE, "a slice with step 0",
                                "a step goes up or down; what does neither is out of bounds"};
    case LOOM_TRAP_UNFLATTEN:
        return (loom_trap_text){LOOM_TRAP_CODE_UNFLATTEN,
                                n->aux ? "reshape to {a} elements, but the array has {b}"
                                       : "unflatten to {a} elements, but the array has {b}",
                                "rows times their length must be the number of elements"};
    case LOOM_TRAP_TOO_MANY:
        return (loom_trap_text){LOOM_TRAP_CODE_COUNT, "an array of more than 2^63 elements: {a} and {b} together",
                                NULL};
    case LOOM_TRAP_COUNT:
        /* Of iota, replicate and generate: the compiler may ask for the length of one by that of another. */
        return (loom_trap_text){LOOM_TRAP_CODE_COUNT, "an array of {a} elements, expected 0 or more", NULL};
    case LOOM_TRAP_EMPTY:
        return (loom_trap_text){LOOM_TRAP_CODE_EMPTY, "fold1 of an empty array",
                                "`fold` with a neutral element has a value for it"};
    }
    return (loom_trap_text){LOOM_TRAP_CODE_ASSERTION, "an error", NULL};
}

loom_trap_text loom_trap_describe(loom_arena *arena, const loom_program *p, const loom_node *n, loom_trap trap,
                                  uint32_t detail) {
    loom_trap_text text = describe(arena, p, n, trap, detail);
    if (!loom_trap_has_code(text.format, text.code))
        text.format = loom_arena_printf(arena, "%s [W%04u]", text.format, (unsigned)text.code);
    return text;
}

bool loom_trap_has_code(const char *message, loom_trap_code code) {
    char end[16];
    size_t length = strlen(message), n = (size_t)snprintf(end, sizeof end, " [W%04u]", (unsigned)code);
    return length >= n && strcmp(message + length - n, end) == 0;
}

char *loom_trap_message(const char *format, int64_t a, int64_t b) {
    loom_buffer text = {0};
    for (const char *at = format; *at;) {
        if (strncmp(at, "{a}", 3) == 0 || strncmp(at, "{b}", 3) == 0) {
            loom_buffer_printf(&text, "%" PRId64, at[1] == 'a' ? a : b);
            at += 3;
        } else {
            loom_buffer_append(&text, at++, 1);
        }
    }
    char *message = loom_buffer_take(&text);
    return message ? message : loom_xstrdup("");
}

loom_status *loom_trap_error(const char *file, loom_span span, const char *format, const char *hint, int64_t a,
                             int64_t b) {
    char *message = loom_trap_message(format, a, b);
    loom_status *status = file && span.line ? loom_error_at(LOOM_E_RUNTIME, file, span, "%s", message)
                                            : loom_error(LOOM_E_RUNTIME, "%s", message);
    free(message);
    if (hint && *hint) loom_status_note(status, "hint: %s", hint);
    return status;
}
