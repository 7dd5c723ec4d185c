// The system's C library, under one name on all systems.
#if canImport(Glibc)
    @_exported public import Glibc
#else
    @_exported public import Darwin
#endif
