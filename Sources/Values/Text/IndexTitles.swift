internal import CFetchIndexICU

/// The titles of a locale's alphabetic index, and the title under which a text is listed. Not thread-safe.
///
/// A title is a label of the locale's index, mostly a letter of its alphabet (か for Japanese kana from か to ご) or of
/// the Latin one, or "#" for other texts. Case and width are ignored, and so are accents that don't make another letter
/// of the alphabet.
package final class IndexTitles {
    /// ICU's index. It's opened on demand, because that is slow.
    private struct Index: ~Copyable {
        let buckets: OpaquePointer
        /// The title of each bucket, in UTF-8.
        let titles: [[UInt8]]

        init?(_ locale: String) {
            guard let buckets = fi_index_open(locale) else { return nil }
            self.buckets = buckets
            titles = (0..<fi_index_bucket_count(buckets)).map { bucket in
                let label = [UInt8](unsafeUninitializedCapacity: 64) { label, count in
                    count = label.withMemoryRebound(to: CChar.self) { label in
                        max(0, Int(fi_index_label(buckets, bucket, label.baseAddress, Int32(label.count))))
                    }
                }
                return label.isEmpty ? Array("#".utf8) : label
            }
        }

        deinit { fi_index_close(buckets) }
    }

    /// The number of texts after which the shortcut is built: for fewer texts, building it may cost more than it saves.
    private static let textsBeforeShortcut = 100_000

    package let locale: String
    /// The versions of the data that determine the titles.
    package let versions: [String]
    private var index: Index?
    private var textsAsked = 0
    /// Lookup table: the bucket by first character, for texts that begin with two ASCII characters or consist of one;
    /// -1 if ICU must be asked. Empty until it's built.
    private var shortcut: [Int16] = []

    package init(_ locale: String) throws(UnknownLocale) {
        guard let collator = try TextCollator(.localized(locale)) else { throw UnknownLocale(locale: locale) }
        self.locale = locale
        versions = [collator.version, ICUVersion.localeData]
    }

    /// Returns the title, in UTF-8, of a UTF-8 text.
    package func title(of text: RawSpan) throws(UnknownLocale) -> [UInt8] {
        if index == nil {
            index = Index(locale)
            if index == nil { throw UnknownLocale(locale: locale) }
        }
        textsAsked += 1
        if textsAsked == Self.textsBeforeShortcut { makeShortcut() }
        let known = shortcut.isEmpty ? -1 : Self.bucket(of: text, shortcut)
        let bucket = known >= 0 ? known : askICU(text)
        return index?.titles[bucket] ?? []
    }

    /// Builds the shortcut for texts that begin with ASCII.
    func makeShortcut() {
        guard let buckets = index?.buckets else { return }
        var found = [Int16](repeating: -1, count: 128)
        let isMade = found.withUnsafeMutableBufferPointer { fi_index_ascii_buckets(buckets, $0.baseAddress) }
        shortcut = isMade ? found : []
    }

    /// Whether the shortcut has the title of texts that begin with this ASCII character.
    func isInShortcut(_ character: UInt8) -> Bool { !shortcut.isEmpty && shortcut[Int(character)] >= 0 }

    private static func bucket(of text: RawSpan, _ shortcut: [Int16]) -> Int {
        text.withUnsafeBytes { text in
            guard let first = text.first, first < 0x80, text.count == 1 || text[1] < 0x80 else { return -1 }
            return Int(shortcut[Int(first)])
        }
    }

    private func askICU(_ text: RawSpan) -> Int {
        guard let buckets = index?.buckets else { return 0 }
        return UTF16Text.with(text) { text, length in Int(fi_index_bucket(buckets, text, length)) }
    }
}
