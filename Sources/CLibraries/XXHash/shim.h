// Inlines XXH3, so that hashing a short value costs no call.
#pragma once
#define XXH_INLINE_ALL
#include <xxhash.h>

/// XXH3_64bits
static inline uint64_t fi_xxh3(const void *bytes, size_t length) { return XXH3_64bits(bytes, length); }
