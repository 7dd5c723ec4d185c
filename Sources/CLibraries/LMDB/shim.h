#pragma once
#include <dlfcn.h>
#include <errno.h>
#include <lmdb.h>

#include <stdint.h>

/// The data version of the files that this LMDB reads and writes: 1 for LMDB 0.9, 3 for LMDB 1.0.
static inline uint32_t fi_data_version(void) { return MDB_VERSION_MAJOR == 0 ? 1 : 3; }

/// Asks the processor to load the cache line of an address. A hint: nothing happens if the address isn't mapped.
static inline void fi_prefetch(uintptr_t address) { __builtin_prefetch((const void *)address); }

/// Computes the checksum of a page that LMDB writes.
typedef void fi_checksum(const MDB_val *bytes, MDB_val *checksum, const MDB_val *key);
typedef int fi_checksum_setter(MDB_env *env, fi_checksum *function, unsigned int length);

/// mdb_env_set_checksum; null if this LMDB can't write checksums: 0.9, or a 1.0 that was compiled without. Looked up when
/// the program runs, so that it can be linked with either.
static inline fi_checksum_setter *fi_checksums(void) {
    return MDB_VERSION_MAJOR == 0 ? (fi_checksum_setter *)0
                                  : (fi_checksum_setter *)dlsym(dlopen((const char *)0, RTLD_LAZY), "mdb_env_set_checksum");
}

/// Makes LMDB write checksums of `length` bytes. Must be called before mdb_env_open.
static inline int fi_set_checksum(MDB_env *env, fi_checksum *function, unsigned int length) {
    fi_checksum_setter *set = fi_checksums();
    return set ? set(env, function, length) : ENOSYS;
}
