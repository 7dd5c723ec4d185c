#if canImport(Glibc)
    internal import CFetchIndexMalloc
#endif

package enum Memory {
    /// Gives free memory back to the system, where the allocator would keep it: for programs that run for a long time.
    package static func giveBack() {
        #if canImport(Glibc)
            malloc_trim(0)
        #endif
    }
}
