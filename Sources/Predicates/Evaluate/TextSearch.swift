internal import Values

/// A text to look for at the start, at the end, or anywhere in another.
struct TextSearch: Sendable {
    let place: Comparator
    let folding: TextFolding
    /// The folded UTF-8 of what is looked for.
    private let pattern: [UInt8]

    init(_ place: Comparator, _ pattern: String, _ folding: TextFolding) {
        self.place = place
        self.folding = folding
        self.pattern = folding.fold(pattern)
    }

    /// Compares bytes, which for UTF-8 is comparing code points. O(length of the text).
    func matches(_ text: String) -> Bool {
        if folding.isEmpty {
            var text = text
            return text.withUTF8 { matches(UnsafeRawBufferPointer($0)) }
        }
        return folding.fold(text).withUnsafeBytes { matches($0) }
    }

    private func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        guard pattern.count <= text.count else { return false }
        switch place {
        case .beginsWith: return text.starts(with: pattern)
        case .endsWith: return text.suffix(pattern.count).elementsEqual(pattern)
        default: return find(in: text)
        }
    }

    private func find(in text: UnsafeRawBufferPointer) -> Bool {
        guard let first = pattern.first else { return true }
        return pattern.withUnsafeBytes { pattern in
            for start in 0...(text.count - pattern.count) where text[start] == first {
                if text[start..<start + pattern.count].elementsEqual(pattern) { return true }
            }
            return false
        }
    }
}
