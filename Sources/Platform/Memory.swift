#if canImport(Glibc)
    internal import CFetchIndexMalloc
#endif

package enum Memory {
    /// Returns the free memory of glibc's allocator to the system; for programs that run for a long time. Does nothing
    /// on other systems.
    package static func giveBack() {
        #if canImport(Glibc)
            malloc_trim(0)
        #endif
    }
}
