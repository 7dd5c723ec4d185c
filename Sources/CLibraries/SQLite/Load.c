#include "CFetchIndexSQLite.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#ifdef __APPLE__
#define LIBRARY "/usr/lib/libsqlite3.dylib"
#else
#define LIBRARY "libsqlite3.so.0"
#endif

static fi_sqlite functions;
/// NULL if the functions are loaded.
static const char *failure;

static void load(void) {
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        failure = "the library " LIBRARY " cannot be loaded";
        return;
    }
    const struct {
        const char *name;
        void *address;
    } symbols[] = {
        {"sqlite3_open_v2", &functions.open},
        {"sqlite3_close_v2", &functions.close},
        {"sqlite3_busy_timeout", &functions.busy_timeout},
        {"sqlite3_errmsg", &functions.message},
        {"sqlite3_prepare_v2", &functions.prepare},
        {"sqlite3_bind_text", &functions.bind_text},
        {"sqlite3_bind_int64", &functions.bind_int64},
        {"sqlite3_step", &functions.step},
        {"sqlite3_reset", &functions.reset},
        {"sqlite3_finalize", &functions.finalize},
        {"sqlite3_column_type", &functions.column_type},
        {"sqlite3_column_int64", &functions.column_int64},
        {"sqlite3_column_double", &functions.column_double},
        {"sqlite3_column_text", &functions.column_text},
        {"sqlite3_column_blob", &functions.column_blob},
        {"sqlite3_column_bytes", &functions.column_bytes},
    };
    for (size_t place = 0; place < sizeof symbols / sizeof *symbols; place++) {
        // POSIX converts the addresses of functions in this way.
        *(void **)symbols[place].address = dlsym(library, symbols[place].name);
        if (!*(void **)symbols[place].address) {
            failure = "the library " LIBRARY " lacks a function";
            return;
        }
    }
}

const fi_sqlite *fi_sqlite_load(const char **fault) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    *fault = failure;
    return failure ? NULL : &functions;
}
