// The system's C library under one name. A file that calls it imports this module: no other module re-exports it.
#if canImport(Glibc)
    @_exported public import Glibc
#else
    @_exported public import Darwin
#endif
