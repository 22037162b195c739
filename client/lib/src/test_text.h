/* Reading a block of comments character by character. Inside. */
#ifndef LOOM_CLIENT_TEST_TEXT_H
#define LOOM_CLIENT_TEST_TEXT_H

#include "client/testing.h"

/* The character to come, or -1 at the end of the block. */
int test_now(const loom_testing_text *t);
void test_next(loom_testing_text *t);
void test_skip_blanks(loom_testing_text *t);
bool test_take(loom_testing_text *t, char c); /* after blanks */
/* Characters of words and numbers: letters, digits, `_ . + -`. The caller's buffer; longer ones are cut and told. */
#define TEST_LONGEST_WORD 200
LOOM_MUST_USE loom_status *test_word(loom_testing_text *t, char word[TEST_LONGEST_WORD + 1]);
loom_span test_place(const loom_testing_text *t);
/* "expected <what>, found ..." at this place. */
LOOM_NEW_STATUS loom_status *test_expected(const loom_testing_text *t, const char *what);
LOOM_NEW_STATUS loom_status *test_error(const loom_testing_text *t, const char *format, ...) LOOM_PRINTF(2, 3);
/* Compiles a regular expression of a file and puts it in front of the file's list. */
LOOM_MUST_USE loom_status *test_regex(loom_arena *arena, const char *file, loom_span span, const char *text,
                                      loom_testing_regex **list, const loom_testing_regex **made);

#endif
