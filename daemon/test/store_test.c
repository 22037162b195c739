/* The store across openings. */
#include "common/buffer.h"
#include "common/file.h"
#include "ledger/store.h"
#include "loom_test.h"
#include <sqlite3.h>
#include <unistd.h>

static char *temporary(void) {
    char *path = loom_xstrdup("/tmp/loom-store-XXXXXX");
    LOOM_CHECK(mkdtemp(path));
    return path;
}

/* As somebody else who opens the database. */
static int64_t count(const char *folder, const char *sql) {
    char *path = loom_xprintf("%s/ledger.db", folder);
    sqlite3 *db;
    sqlite3_stmt *statement;
    LOOM_CHECK(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK);
    LOOM_CHECK(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
    LOOM_CHECK(sqlite3_step(statement) == SQLITE_ROW);
    int64_t n = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    free(path);
    return n;
}

LOOM_TEST(store, incarnations_grow) {
    char *folder = temporary();
    for (uint64_t expected = 1; expected <= 3; expected++) {
        loom_store *s;
        uint64_t incarnation;
        LOOM_OK(loom_store_open(folder, expected % 2, &s, &incarnation));
        LOOM_CHECK_EQ_INT(incarnation, expected);
        loom_store_close(s);
    }
    loom_remove_tree(folder);
    free(folder);
}

LOOM_TEST(store, deltas_merges_and_ends) {
    char *folder = temporary();
    loom_store *s;
    uint64_t incarnation, last;
    LOOM_OK(loom_store_open(folder, false, &s, &incarnation));
    LOOM_OK(loom_store_last_job(s, &last));
    LOOM_CHECK_EQ_INT(last, 0);
    LOOM_OK(loom_store_job(s, 1, "image"));
    LOOM_FAILS(loom_store_job(s, 1, "again"), LOOM_E_IO);
    loom_stretch blocks[] = {{0, 4}, {8, 2}}, overlap[] = {{0, 1}};
    loom_stored_piece a = {0, {0, 6}, "a"}, b = {0, {4, 4}, "b"}, c = {0, {0, 10}, "c"};
    LOOM_OK(loom_store_delta(s, 1, 0, (loom_epoch){1, 1}, 10, blocks, 2, &a, 1));
    /* The same epoch, the same delta, the same first block: each is refused, and leaves nothing behind. */
    LOOM_FAILS(loom_store_delta(s, 1, 0, (loom_epoch){1, 1}, 11, NULL, 0, &b, 1), LOOM_E_IO);
    LOOM_FAILS(loom_store_delta(s, 1, 0, (loom_epoch){1, 2}, 10, NULL, 0, &b, 1), LOOM_E_IO);
    LOOM_FAILS(loom_store_delta(s, 1, 0, (loom_epoch){1, 2}, 11, overlap, 1, &b, 1), LOOM_E_IO);
    LOOM_OK(loom_store_delta(s, 1, 0, (loom_epoch){1, 2}, 11, (loom_stretch[]){{4, 4}}, 1, &b, 1));
    LOOM_CHECK_EQ_INT(count(folder, "SELECT sum(n) FROM block WHERE job = 1 AND stage = 0"), 10);
    LOOM_OK(loom_store_merge(s, 1, 0, "a", "b", &c));
    LOOM_FAILS(loom_store_merge(s, 1, 0, "a", "b", &c), LOOM_E_INTERNAL);
    LOOM_OK(loom_store_slot(s, 1, 3, "c"));
    loom_store_close(s);
    LOOM_OK(loom_store_open(folder, false, &s, &incarnation));
    LOOM_CHECK_EQ_INT(count(folder, "SELECT count(*) FROM block"), 3);
    LOOM_OK(loom_store_last_job(s, &last));
    LOOM_CHECK_EQ_INT(last, 1);
    LOOM_OK(loom_store_end(s, 1, "done"));
    LOOM_CHECK_EQ_INT(count(folder, "SELECT count(*) FROM block"), 0);
    int64_t abandoned;
    LOOM_OK(loom_store_job(s, 2, "left"));
    LOOM_OK(loom_store_abandon(s, &abandoned));
    LOOM_CHECK_EQ_INT(abandoned, 1);
    loom_store_close(s);
    loom_remove_tree(folder);
    free(folder);
}

LOOM_TEST(store, what_is_no_database_is_an_error) {
    char *folder = temporary();
    char *path = loom_xprintf("%s/ledger.db", folder);
    LOOM_OK(loom_file_write(path, "this is not a database, by a long way, nor was it ever", 54, false));
    loom_store *s;
    uint64_t incarnation;
    LOOM_FAILS(loom_store_open(folder, false, &s, &incarnation), LOOM_E_IO);
    LOOM_FAILS(loom_store_open("/nonexistent-folder", false, &s, &incarnation), LOOM_E_CANTCREATE);
    free(path);
    loom_remove_tree(folder);
    free(folder);
}
