#pragma once
#include <lmdb.h>

#include <stdint.h>

/// The data version of the files that this LMDB reads and writes: 1 for LMDB 0.9, 3 for LMDB 1.0.
static inline uint32_t fi_data_version(void) { return MDB_VERSION_MAJOR == 0 ? 1 : 3; }

/// Asks the processor to load the cache line of an address. A hint: nothing happens if the address isn't mapped.
static inline void fi_prefetch(uintptr_t address) { __builtin_prefetch((const void *)address); }
