// FoundationEssentials under one name: on Apple's systems it is a part of Foundation. A file that uses dates, decimals, UUIDs, URLs or
// JSON coders imports this module: no other module re-exports it.
#if canImport(FoundationEssentials)
    @_exported public import FoundationEssentials
#else
    @_exported public import Foundation
#endif
