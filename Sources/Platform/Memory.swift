#if canImport(Glibc)
    internal import CFetchIndexMalloc
#endif

package enum Memory {
    /// Returns free memory to the system, which the allocator would keep: for programs that run for a long time.
    package static func giveBack() {
        #if canImport(Glibc)
            malloc_trim(0)
        #endif
    }
}
