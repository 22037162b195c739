#include "ledger/store.h"
#include "common/buffer.h"
#include "common/file.h"
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define STORE_VERSION 1

struct loom_store {
    sqlite3 *db;
    char *folder;
};

static const char *const schema =
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS job (job INTEGER PRIMARY KEY, name TEXT NOT NULL, incarnation INTEGER NOT NULL,"
    "  begun TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, ended TEXT, how TEXT);"
    "CREATE TABLE IF NOT EXISTS delta (job INTEGER NOT NULL, stage INTEGER NOT NULL, delta INTEGER NOT NULL,"
    "  incarnation INTEGER NOT NULL, epoch INTEGER NOT NULL, PRIMARY KEY (job, stage, delta),"
    "  UNIQUE (incarnation, epoch, job, stage)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS block (job INTEGER NOT NULL, stage INTEGER NOT NULL, first INTEGER NOT NULL,"
    "  n INTEGER NOT NULL, delta INTEGER NOT NULL, PRIMARY KEY (job, stage, first)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS piece (path TEXT PRIMARY KEY, job INTEGER NOT NULL, stage INTEGER NOT NULL,"
    "  output INTEGER NOT NULL, first INTEGER NOT NULL, n INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS slot (job INTEGER NOT NULL, slot INTEGER NOT NULL, path TEXT NOT NULL,"
    "  PRIMARY KEY (job, slot)) WITHOUT ROWID;";

static loom_status *failed(loom_store *s, const char *what) {
    int code = sqlite3_errcode(s->db) & 0xff, why = 0;
    if (code == SQLITE_FULL || code == SQLITE_IOERR) why = loom_write_cause(s->folder, sqlite3_system_errno(s->db));
    if (code == SQLITE_FULL && !why) why = ENOSPC;
    if (!why) {
        return loom_error(LOOM_E_IO, "the daemon's store in %s: %s: %s", s->folder, what, sqlite3_errmsg(s->db));
    }
    return loom_status_note(loom_error_errno(LOOM_E_IO, why, "the daemon's store in %s", s->folder),
                            "hint: a command keeps it in $TMPDIR, a gridloomd in its --store");
}

static loom_status *run(loom_store *s, const char *sql) {
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? NULL : failed(s, sql);
}

/* One statement with arguments: 'i' an int64_t, 's' a text. */
static loom_status *run_with(loom_store *s, const char *sql, const char *types, ...) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) != SQLITE_OK) return failed(s, sql);
    va_list arguments;
    va_start(arguments, types);
    for (int i = 0; types[i]; i++) {
        if (types[i] == 'i') {
            sqlite3_bind_int64(statement, i + 1, va_arg(arguments, int64_t));
        } else {
            sqlite3_bind_text(statement, i + 1, va_arg(arguments, const char *), -1, SQLITE_TRANSIENT);
        }
    }
    va_end(arguments);
    int rc = sqlite3_step(statement);
    loom_status *status = rc == SQLITE_DONE || rc == SQLITE_ROW ? NULL : failed(s, sql);
    sqlite3_finalize(statement);
    return status;
}

static loom_status *query_int(loom_store *s, const char *sql, int64_t *value) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) != SQLITE_OK) return failed(s, sql);
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? NULL : failed(s, sql);
}

/* Ends a transaction as `status` says. */
static loom_status *end(loom_store *s, loom_status *status) {
    if (!status) status = run(s, "COMMIT");
    if (status) loom_status_free(run(s, "ROLLBACK"));
    return status;
}

static loom_status *prepare(loom_store *s, bool lasting, uint64_t *incarnation) {
    LOOM_TRY(run(s, "PRAGMA journal_mode = WAL"));
    LOOM_TRY(run(s, lasting ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = OFF"));
    LOOM_TRY(run(s, "BEGIN IMMEDIATE"));
    int64_t version = STORE_VERSION, raised = 0;
    loom_status *status = run(s, schema);
    if (!status) status = query_int(s, "SELECT value FROM meta WHERE key = 'version'", &version);
    if (!status && version != STORE_VERSION) {
        status = loom_error(LOOM_E_CONFIG, "the store is of version %lld, this release knows %d", (long long)version,
                            STORE_VERSION);
    }
    if (!status) {
        status = run_with(s, "INSERT OR REPLACE INTO meta VALUES ('version', ?)", "i", (int64_t)STORE_VERSION);
    }
    if (!status) {
        status = run(s, "INSERT INTO meta VALUES ('incarnation', 1)"
                        " ON CONFLICT (key) DO UPDATE SET value = value + 1");
    }
    if (!status) status = query_int(s, "SELECT value FROM meta WHERE key = 'incarnation'", &raised);
    LOOM_TRY(end(s, status));
    *incarnation = (uint64_t)raised;
    return lasting ? run(s, "PRAGMA synchronous = NORMAL") : NULL;
}

loom_status *loom_store_open(const char *folder, bool lasting, loom_store **store, uint64_t *incarnation) {
    loom_store *s = loom_xcalloc(1, sizeof *s);
    s->folder = loom_xstrdup(folder);
    char *path = loom_xprintf("%s/ledger.db", folder);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    loom_status *status = NULL;
    if (sqlite3_open_v2(path, &s->db, flags, NULL) != SQLITE_OK) {
        status = loom_error(LOOM_E_CANTCREATE, "cannot open the store %s: %s", path, sqlite3_errmsg(s->db));
    }
    if (!status) {
        sqlite3_busy_timeout(s->db, 2000);
        status = prepare(s, lasting, incarnation);
    }
    free(path);
    if (status) {
        loom_store_close(s);
        return status;
    }
    *store = s;
    return NULL;
}

void loom_store_close(loom_store *s) {
    if (!s) return;
    sqlite3_close(s->db);
    free(s->folder);
    free(s);
}

loom_status *loom_store_last_job(loom_store *s, uint64_t *job) {
    int64_t last = 0;
    LOOM_TRY(query_int(s, "SELECT coalesce(max(job), 0) FROM job", &last));
    *job = (uint64_t)last;
    return NULL;
}

loom_status *loom_store_job(loom_store *s, uint64_t job, const char *name) {
    return run_with(s,
                    "INSERT INTO job (job, name, incarnation) VALUES (?, ?,"
                    " (SELECT value FROM meta WHERE key = 'incarnation'))",
                    "is", (int64_t)job, name);
}

static loom_status *add_piece(loom_store *s, uint64_t job, uint32_t stage, const loom_stored_piece *piece) {
    return run_with(s, "INSERT INTO piece VALUES (?, ?, ?, ?, ?, ?)", "siiiii", piece->path, (int64_t)job,
                    (int64_t)stage, (int64_t)piece->output, piece->stretch.first, piece->stretch.n);
}

loom_status *loom_store_delta(loom_store *s, uint64_t job, uint32_t stage, loom_epoch epoch, uint64_t delta,
                              const loom_stretch *blocks, size_t n_blocks, const loom_stored_piece *pieces,
                              size_t n_pieces) {
    LOOM_TRY(run(s, "BEGIN IMMEDIATE"));
    loom_status *status = run_with(s, "INSERT INTO delta VALUES (?, ?, ?, ?, ?)", "iiiii", (int64_t)job, (int64_t)stage,
                                   (int64_t)delta, (int64_t)epoch.incarnation, (int64_t)epoch.counter);
    for (size_t i = 0; i < n_blocks && !status; i++) {
        status = run_with(s, "INSERT INTO block VALUES (?, ?, ?, ?, ?)", "iiiii", (int64_t)job, (int64_t)stage,
                          blocks[i].first, blocks[i].n, (int64_t)delta);
    }
    for (size_t i = 0; i < n_pieces && !status; i++) status = add_piece(s, job, stage, &pieces[i]);
    return end(s, status);
}

loom_status *loom_store_merge(loom_store *s, uint64_t job, uint32_t stage, const char *a, const char *b,
                              const loom_stored_piece *made) {
    LOOM_TRY(run(s, "BEGIN IMMEDIATE"));
    loom_status *status = run_with(s, "DELETE FROM piece WHERE path IN (?, ?)", "ss", a, b);
    if (!status && sqlite3_changes(s->db) != 2) {
        status = loom_error(LOOM_E_INTERNAL, "the daemon's store: a merge of pieces that are not there");
    }
    if (!status) status = add_piece(s, job, stage, made);
    return end(s, status);
}

loom_status *loom_store_slot(loom_store *s, uint64_t job, uint32_t slot, const char *path) {
    return run_with(s, "INSERT OR REPLACE INTO slot VALUES (?, ?, ?)", "iis", (int64_t)job, (int64_t)slot, path);
}

loom_status *loom_store_end(loom_store *s, uint64_t job, const char *how) {
    LOOM_TRY(run(s, "BEGIN IMMEDIATE"));
    static const char *const tables[] = {"DELETE FROM delta WHERE job = ?", "DELETE FROM block WHERE job = ?",
                                         "DELETE FROM piece WHERE job = ?", "DELETE FROM slot WHERE job = ?"};
    loom_status *status = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !status; i++) {
        status = run_with(s, tables[i], "i", (int64_t)job);
    }
    if (!status) {
        status =
            run_with(s, "UPDATE job SET ended = CURRENT_TIMESTAMP, how = ? WHERE job = ?", "si", how, (int64_t)job);
    }
    return end(s, status);
}

loom_status *loom_store_abandon(loom_store *s, int64_t *n_jobs) {
    LOOM_TRY(run(s, "BEGIN IMMEDIATE"));
    static const char *const statements[] = {"DELETE FROM delta", "DELETE FROM block", "DELETE FROM piece",
                                             "DELETE FROM slot"};
    loom_status *status = NULL;
    for (size_t i = 0; i < sizeof statements / sizeof *statements && !status; i++) status = run(s, statements[i]);
    if (!status) {
        status =
            run(s, "UPDATE job SET ended = CURRENT_TIMESTAMP, how = 'the daemon was restarted' WHERE ended IS NULL");
    }
    int64_t abandoned = sqlite3_changes(s->db);
    LOOM_TRY(end(s, status));
    *n_jobs = abandoned;
    return NULL;
}
