import FetchIndexPlatform
import FetchIndex
import FetchIndexOrderCaches
import FetchIndexPredicates
import FetchIndexRecords
import FetchIndexValues

/// The bytes are read as a record, in several ways, and as an order key. After a checksum is appended, they are read as
/// a model, as a cache's header and as a part of the log.
enum RecordBody {
    /// Predicates with many kinds of tests.
    private static let predicates: [CompiledPredicate] = [
        "boolean == TRUE AND integer < 600 OR double >= 4.5", "string CONTAINS[cd] 'strasse' OR title BEGINSWITH '虐'",
        "string LIKE '*a?h*' AND NOT title MATCHES '.*器.'", "date BETWEEN {'2001-01-01', '2016-05-16'}",
        "decimal * 2 == 3 AND integer + price > 5", "integer IN {1, 583} OR string IN[c] {'a', 'b'} OR uuid == uuid",
        "data == nil OR url == 'https://example.com' OR released < now()",
        "length(string) > 5 AND uppercase:(note) != 'X'",
    ].map { format in
        do {
            return try CompiledPredicate(FetchPredicate(format), SampleObject.entity)
        } catch { preconditionFailure("\(format) does not compile: \(error)") }
    }

    static func run(_ input: [UInt8]) {
        readKey(input)
        readHeaders(input)
        guard let view = try? RecordView(input.span.bytes) else { return }
        _ = view.check(as: SampleObject.entity)
        for predicate in predicates { _ = try? predicate.evaluate(view) }
        for slot in 0..<min(view.slotCount + 1, 32) {
            for type in ValueType.allCases { read(slot, of: view, as: type) }
        }
    }

    /// If the bytes of a slot are the stored form of a value, the slot's order key must be the order key of that value.
    private static func read(_ slot: Int, of view: RecordView, as type: ValueType) {
        var key: [UInt8] = []
        let isWritten = (try? view.appendOrderKey(of: slot, as: type, to: &key)) != nil
        guard let value = try? view.value(at: slot, as: type) else { return }
        _ = value.description
        precondition(isWritten, "\(value) has no order key")
        let entity = Entity("One", [AttributeDescription("value", type)])
        guard let stored = try? entity.record([value]), let again = try? RecordView(stored.span.bytes),
            let range = try? view.range(of: slot), let storedRange = try? again.range(of: 0),
            [UInt8](copying: view.bytes(range)) == [UInt8](copying: again.bytes(storedRange))
        else { return }
        var expected: [UInt8] = []
        OrderKey.append(value, to: &expected)
        precondition(key == expected, "\(value) has two order keys")
        let first = OrderKey.first(in: key.span.bytes)
        precondition(first?.length == key.count, "the order key of \(value) is read as \(first?.length ?? -1) bytes")
    }

    /// Reads one value after the other from a key. Each value is written to a key of its own, which must read back as a
    /// value with the same key.
    private static func readKey(_ input: [UInt8]) {
        let bytes = input.span.bytes
        var offset = 0
        while let (value, length) = OrderKey.first(in: bytes.extracting(offset..<bytes.byteCount)) {
            precondition(length > 0, "a value of a key takes no bytes")
            offset += length
            _ = value.description
            var key: [UInt8] = []
            OrderKey.append(value, to: &key)
            guard let again = OrderKey.first(in: key.span.bytes) else {
                preconditionFailure("the order key of \(value) cannot be read")
            }
            precondition(again.length == key.count, "the order key of \(value) is read as \(again.length) bytes")
            var written: [UInt8] = []
            OrderKey.append(again.value, to: &written)
            precondition(written == key, "\(value) is read from its order key as \(again.value)")
        }
    }

    /// A model or header that is read from the bytes must not change when it's written and read again.
    private static func readHeaders(_ input: [UInt8]) {
        var bytes = input
        bytes.appendChecksum()
        if let model = try? Model(decoding: bytes.span.bytes) {
            let written = model.encoded
            let again = try? Model(decoding: written.span.bytes)
            precondition(again == model, "a model is read as another one")
        }
        if let header = try? CacheHeader(name: "n", decoding: bytes.span.bytes) {
            let written = header.encoded
            precondition(
                (try? CacheHeader(name: "n", decoding: written.span.bytes))?.encoded == written,
                "a cache's header is read as another one")
        }
        readLog(input)
    }

    private static func readLog(_ input: [UInt8]) {
        func part(_ key: LogKey) -> [UInt8] {
            var part = input
            part.appendChecksum(with: key.checksum)
            return part
        }
        let header = part(LogKey(commit: 1, part: 0))
        _ = try? CommitHeader(commit: 1, decoding: header.span.bytes)
        let key = LogKey(commit: 1, part: 1)
        let entries = part(key)
        try? StoreReader.forEachEntry(in: entries.span.bytes, of: key) { entry, old in
            precondition(entry.object.number <= RecordKey.maximumNumber && old.byteCount <= input.count)
        }
    }
}
