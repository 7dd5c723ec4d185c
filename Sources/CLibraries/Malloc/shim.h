// What glibc's allocator offers, which Swift's Glibc module leaves out.
#pragma once
#ifdef __linux__
#include <malloc.h>
#endif
