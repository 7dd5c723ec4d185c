#pragma once
#include <lmdb.h>

#include <stdint.h>

/// Asks the processor to load the cache line of an address. A hint: nothing happens if the address isn't mapped.
static inline void fi_prefetch(uintptr_t address) { __builtin_prefetch((const void *)address); }
