#if canImport(Glibc)
    internal import CFetchIndexMalloc
#endif

package enum Memory {
    /// Returns the allocator's free memory to the system; for programs that run for a long time.
    package static func giveBack() {
        #if canImport(Glibc)
            malloc_trim(0)
        #endif
    }
}
