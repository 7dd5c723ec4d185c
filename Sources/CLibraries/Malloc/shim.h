// Functions of glibc's allocator that Swift's Glibc module lacks.
#pragma once
#ifdef __linux__
#include <malloc.h>
#endif
