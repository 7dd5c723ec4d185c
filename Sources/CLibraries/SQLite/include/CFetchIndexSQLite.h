// SQLite, loaded when it is used first. If it were linked, each start of a program would load it (0.7 ms of 15).
#pragma once
#include <sqlite3.h>

/// The functions that are used. https://www.sqlite.org/c3ref/funclist.html
typedef struct {
    __typeof__(&sqlite3_open_v2) open;
    __typeof__(&sqlite3_close_v2) close;
    __typeof__(&sqlite3_busy_timeout) busy_timeout;
    __typeof__(&sqlite3_errmsg) message;
    __typeof__(&sqlite3_prepare_v2) prepare;
    __typeof__(&sqlite3_bind_text) bind_text;
    __typeof__(&sqlite3_bind_int64) bind_int64;
    __typeof__(&sqlite3_step) step;
    __typeof__(&sqlite3_reset) reset;
    __typeof__(&sqlite3_finalize) finalize;
    __typeof__(&sqlite3_column_type) column_type;
    __typeof__(&sqlite3_column_int64) column_int64;
    __typeof__(&sqlite3_column_double) column_double;
    __typeof__(&sqlite3_column_text) column_text;
    __typeof__(&sqlite3_column_blob) column_blob;
    __typeof__(&sqlite3_column_bytes) column_bytes;
} fi_sqlite;

/// Loads the library, which stays loaded, and returns its functions. NULL if it can't be loaded; then `fault` is the
/// reason.
const fi_sqlite *fi_sqlite_load(const char **fault);
