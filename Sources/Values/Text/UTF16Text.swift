internal import CFetchIndexICU

/// Converts UTF-8 text to the UTF-16 that ICU reads.
enum UTF16Text {
    /// Calls the body with the text in UTF-16 and its length. Malformed UTF-8 becomes U+FFFD.
    static func with<Result>(_ text: RawSpan, _ body: (UnsafePointer<UInt16>?, Int32) -> Result) -> Result {
        text.withUnsafeBytes { text in
            withUnsafeTemporaryAllocation(of: UInt16.self, capacity: text.count + 1) { utf16 in
                let length = fi_utf16_from_utf8(
                    text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(text.count),
                    utf16.baseAddress, Int32(utf16.count))
                return body(utf16.baseAddress, max(length, 0))
            }
        }
    }
}
