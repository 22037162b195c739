/* Errors of the elaborator, told where the user can do something about them. */
#include "elab.h"
#include <stdarg.h>
#include <string.h>

static bool is_users(const syn_elab *e, loom_span span) {
    return span.line && span.file < e->c->n_user_files;
}

/* The innermost use made by the user's own text. */
static const syn_site *users_site(const syn_elab *e, const syn_site *site) {
    while (site && !is_users(e, site->call)) site = site->outer;
    return site;
}

static void vreport(syn_elab *e, loom_weft_error error, const syn_site *site, loom_span span, const char *hint,
                    const char *format, va_list arguments) {
    e->errors++;
    char text[LOOM_SYN_MAX_MESSAGE];
    loom_syn_message(text, format, arguments);
    const char *message = text;
    if (!is_users(e, span)) {
        const syn_site *users = users_site(e, site);
        if (users) {
            span = users->call;
            message = loom_arena_printf(e->arena, "in `%s`: %s", users->decl->name->text, text);
            if (!hint && users->decl->prelude) {
                hint = loom_arena_printf(e->arena, "what `%s` is given does not fit it", users->decl->name->text);
            }
        }
    } else if (!hint && site && site->outer && is_users(e, site->call)) {
        hint = loom_arena_printf(e->arena, "`%s` is checked for its use in line %u", site->decl->name->text,
                                 site->call.line);
    }
    loom_syn_report(e->c, error, span, hint, "%s", message);
}

void loom_syn_limit(syn_elab *e, loom_weft_error error, loom_span span, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vreport(e, error, e->site, span, hint, format, arguments);
    va_end(arguments);
    longjmp(*e->give_up, 1);
}

void loom_syn_error(syn_elab *e, loom_weft_error error, loom_span span, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vreport(e, error, e->site, span, hint, format, arguments);
    va_end(arguments);
}

void loom_syn_error_at(syn_elab *e, loom_weft_error error, const syn_site *site, loom_span span, const char *hint,
                       const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vreport(e, error, site, span, hint, format, arguments);
    va_end(arguments);
}

void loom_syn_warn(syn_elab *e, loom_weft_error error, loom_span span, const char *hint, const char *format, ...) {
    if (!is_users(e, span)) return;
    va_list arguments;
    va_start(arguments, format);
    loom_syn_vreport(e->c, error, span, hint, format, arguments);
    va_end(arguments);
}

loom_span loom_syn_place(const syn_elab *e, loom_span span) {
    if (is_users(e, span)) return span;
    for (const syn_site *s = e->site; s && !s->instance; s = s->outer) {
        if (is_users(e, s->call)) return s->call;
    }
    return span;
}

loom_span loom_syn_argument_place(const syn_elab *e, const syn_value *argument, loom_span application) {
    return is_users(e, argument->place) ? argument->place : application;
}

void loom_syn_found_seq(syn_elab *e, loom_span span, const char *name, uint32_t argument, syn_ty *found) {
    static const char *const instead[][2] = {
        {"length", "count it: `fold_seq (+) 0 (map_seq (\\_ -> 1i64) xs)`"},
        {"sum", "`fold_seq (+) 0 xs`"},
        {"product", "`fold_seq (*) 1 xs`"},
        {"maximum", "`fold_seq max lowest xs`"},
        {"minimum", "`fold_seq min highest xs`"},
        {"map", "`map_seq f xs`"},
        {"zip_with", "`zip_with_seq f xs ys`"},
        {"fold", "`fold_seq op ne xs`"},
        {"reduce", "`fold_seq op ne xs`"},
        {"scan", "`scan_seq op ne xs`"},
        {"filter", "`filter_seq p xs`"},
        {"partition", "`filter_seq p xs`, and another for the others"},
        {"sort", "`sort (from_seq xs)`"},
        {"sort_by", "`sort_by key (from_seq xs)`"},
        {"stencil", "`stencil #clamp f (from_seq xs)`"},
        {"permute", "`permute_seq op dest is xs`"},
    };
    const syn_site *users = is_users(e, span) ? NULL : users_site(e, e->site);
    /* The prelude function that the user's text names, and the text's own place. */
    if (users && users->decl->prelude) {
        name = users->decl->name->text;
        span = users->call;
    }
    const char *hint = "sequences have operations of their own: map_seq, fold_seq, ...; `from_seq` makes an array";
    for (size_t i = 0; i < sizeof instead / sizeof *instead; i++) {
        if (strcmp(instead[i][0], name) == 0) hint = instead[i][1];
    }
    const char *text = loom_syn_ty_text(e, found);
    if (users && users->decl->prelude) {
        loom_syn_error(e, LOOM_W_NOT_AN_ARRAY, span, hint, "`%s` works on arrays, found %s", name, text);
    } else {
        loom_syn_error(e, LOOM_W_NOT_AN_ARRAY, span, hint, "argument %u of `%s`: expected an array, found %s",
                       argument + 1, name, text);
    }
}

void loom_syn_found_no_array(syn_elab *e, loom_span span, const char *form, const char *name, uint32_t argument,
                             syn_ty *found) {
    const syn_site *users = is_users(e, span) ? NULL : users_site(e, e->site);
    const char *text = loom_syn_ty_text(e, found);
    if (users && users->decl->prelude) {
        loom_syn_error(e, LOOM_W_NOT_AN_ARRAY, users->call, "`[x]` is an array of one",
                       "`%s` works on arrays, found %s", users->decl->name->text, text);
        return;
    }
    const char *hint = form ? loom_arena_printf(e->arena, "`%s`", form) : NULL;
    if (strncmp(name, "map", 3) == 0) hint = "`map f xs`; on a single value: `f x`";
    loom_syn_error(e, LOOM_W_NOT_AN_ARRAY, span, hint, "argument %u of `%s`: expected an array, found %s", argument + 1,
                   name, text);
}

/* Arrays of one nesting whose scalars differ. */
static const char *elements_hint(syn_elab *e, const syn_ty *found, const syn_ty *expected) {
    uint32_t levels = 0;
    for (; found->kind == TY_ARRAY && expected->kind == TY_ARRAY; levels++) {
        found = loom_syn_ty(found->element);
        expected = loom_syn_ty(expected->element);
    }
    if (found->kind != TY_SCALAR || expected->kind != TY_SCALAR || found->dtype == expected->dtype) return NULL;
    if (found->dtype == LOOM_BOOL || expected->dtype == LOOM_BOOL) return NULL;
    return loom_arena_printf(e->arena,
                             levels == 1 ? "convert the elements: `map %s.%s xs`" : "convert the elements with `%s.%s`",
                             loom_dtype_name(expected->dtype), loom_dtype_name(found->dtype));
}

/* What to do about two types that differ. */
static const char *mismatch_hint(syn_elab *e, syn_ty *found, syn_ty *expected) {
    found = loom_syn_ty(found);
    expected = loom_syn_ty(expected);
    bool is_bool = found->kind == TY_SCALAR && found->dtype == LOOM_BOOL;
    bool number = found->kind == TY_VAR ? found->mask && !(found->mask & SYN_BIT(LOOM_BOOL)) : !is_bool;
    if (expected->kind == TY_SCALAR && expected->dtype == LOOM_BOOL) {
        return number && (found->kind == TY_SCALAR || found->kind == TY_VAR) ? "compare it: `x != 0`" : NULL;
    }
    if (expected->kind == TY_SCALAR && is_bool) return "`if x then 1 else 0`";
    if (expected->kind == TY_SCALAR && found->kind == TY_SCALAR) {
        return loom_arena_printf(e->arena, "convert it: `%s x`", loom_dtype_name(expected->dtype));
    }
    if (expected->kind == TY_ARRAY && found->kind == TY_ARRAY) return elements_hint(e, found, expected);
    bool convertible =
        expected->kind == TY_SCALAR && expected->dtype != LOOM_BOOL && found->kind == TY_VAR && found->mask;
    if (convertible && !(found->mask & SYN_BIT(expected->dtype))) {
        return loom_arena_printf(e->arena, "convert it: `%s x`", loom_dtype_name(expected->dtype));
    }
    bool fractions = expected->kind == TY_VAR && expected->mask && !(expected->mask & SYN_INTEGERS);
    if (fractions && found->kind == TY_SCALAR && !is_bool) return "convert it: `f64 x`";
    if (expected->kind == TY_SEQ && found->kind == TY_ARRAY) return "`rows xs` makes a sequence of an array";
    if (expected->kind == TY_ARRAY && found->kind == TY_SEQ) {
        return "sequences have operations of their own: map_seq, fold_seq, ...; `from_seq` makes an array";
    }
    return NULL;
}

static void differ(syn_elab *e, loom_weft_error error, syn_ty *found, syn_ty *expected, loom_span span,
                   const char *hint, const char *format, va_list arguments) {
    if (loom_syn_has_poison(e, found) || loom_syn_has_poison(e, expected)) {
        e->errors++; /* that has been told */
        return;
    }
    char what[512];
    vsnprintf(what, sizeof what, format, arguments);
    /* Inside the prelude there is nothing for the user to convert. */
    const char *own = is_users(e, span) ? mismatch_hint(e, found, expected) : NULL;
    loom_syn_error(e, error, span, hint ? hint : own, "%s: expected %s, found %s", what, loom_syn_ty_text(e, expected),
                   loom_syn_ty_text(e, found));
}

bool loom_syn_need_type(syn_elab *e, loom_weft_error error, syn_ty *found, syn_ty *expected, loom_span span,
                        const char *format, ...) {
    if (loom_syn_unify(e, found, expected)) return true;
    va_list arguments;
    va_start(arguments, format);
    differ(e, error, found, expected, span, NULL, format, arguments);
    va_end(arguments);
    return false;
}

bool loom_syn_need_type_hint(syn_elab *e, loom_weft_error error, syn_ty *found, syn_ty *expected, loom_span span,
                             const char *hint, const char *format, ...) {
    if (loom_syn_unify(e, found, expected)) return true;
    va_list arguments;
    va_start(arguments, format);
    differ(e, error, found, expected, span, hint, format, arguments);
    va_end(arguments);
    return false;
}

bool loom_syn_need_mask(syn_elab *e, loom_weft_error error, syn_ty *found, syn_mask mask, loom_span span,
                        const char *format, ...) {
    if (loom_syn_restrict(e, found, mask)) return true;
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    loom_syn_error(e, error, span, NULL, "%s: expected %s, found %s", what, loom_syn_mask_text(mask),
                   loom_syn_ty_text(e, found));
    return false;
}
