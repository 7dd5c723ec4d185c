/// The objects of a keyed archive, as Foundation writes it: a binary property list with a list of objects that refer to
/// each other by their places in it. Nothing is decoded before it's asked for, and no class is looked up.
///
///     $top        root: the place of the first object
///     $objects    "$null" | dictionaries with $class and members | texts, numbers and bytes
struct KeyedArchive {
    /// Why an archive can't be read.
    struct Malformed: Error { let reason: String }

    private let list: BinaryPropertyList
    private let objects: [BinaryPropertyList.Reference]
    private let budget = Budget()

    /// The number of elements that may still be read: references may be shared, so a small archive could have very many.
    private final class Budget {
        var left = 1 << 20
    }

    /// Whether more elements were asked for than are read, so that later lists were empty.
    var isExhausted: Bool { budget.left < 0 }

    /// Reads an archive. Throws `Malformed`.
    init(_ bytes: [UInt8]) throws {
        guard let list = BinaryPropertyList(bytes) else { throw Malformed(reason: "the property list is damaged") }
        self.list = list
        guard let place = list.member("$objects", of: list.top), case .array(let objects) = list[place] else {
            throw Malformed(reason: "the property list is not a keyed archive")
        }
        self.objects = objects
    }

    /// The first value. Throws `Malformed` if it's missing.
    func rootValue() throws -> Value {
        guard let top = list.member("$top", of: list.top), let place = list.member("root", of: top) else {
            throw Malformed(reason: "the archive has no first object")
        }
        return value(of: place)
    }

    /// The first object. Throws `Malformed` if it's missing.
    func root() throws -> Object {
        guard case .object(let object) = try rootValue() else {
            throw Malformed(reason: "the archive has no first object")
        }
        return object
    }

    enum Value {
        case null
        case text(String)
        case integer(Int64)
        case real(Double)
        case flag(Bool)
        case bytes([UInt8])
        case object(Object)
    }

    /// The value of a member, or of the object to which it refers.
    private func value(of member: BinaryPropertyList.Reference) -> Value {
        var reference = member
        if case .uid(let place) = list[member] {
            // The first object stands for null.
            guard place > 0, place < objects.count else { return .null }
            reference = objects[place]
        }
        switch list[reference] {
        case .text(let text): return .text(text)
        case .integer(let number): return .integer(number)
        case .real(let number): return .real(number)
        case .flag(let flag): return .flag(flag)
        case .bytes(let bytes): return .bytes(bytes)
        case .dictionary: return .object(Object(archive: self, reference: reference))
        case .null, .uid, .array: return .null
        }
    }

    /// An archived object: a dictionary of members. Only a reference to it is kept, because a large one may have many
    /// references.
    struct Object {
        fileprivate let archive: KeyedArchive
        fileprivate let reference: BinaryPropertyList.Reference

        /// The name of the object's class; empty if it's unknown.
        var className: String {
            guard case .object(let description) = self["$class"], case .text(let name) = description["$classname"]
            else {
                return ""
            }
            return name
        }

        /// A member; null if it's missing. O(members).
        subscript(_ key: String) -> Value { archive.list.member(key, of: reference).map(archive.value) ?? .null }

        func has(_ key: String) -> Bool { archive.list.member(key, of: reference) != nil }

        /// Whether the object is an array or a set.
        var isCollection: Bool { has("NS.objects") }
        var isExhausted: Bool { archive.isExhausted }

        func text(_ key: String) -> String? { if case .text(let text) = self[key] { text } else { nil } }
        func object(_ key: String) -> Object? { if case .object(let object) = self[key] { object } else { nil } }

        func integer(_ key: String) -> Int {
            if case .integer(let number) = self[key] { Int(clamping: number) } else { 0 }
        }

        func flag(_ key: String) -> Bool {
            switch self[key] {
            case .flag(let flag): flag
            case .integer(let number): number != 0
            default: false
            }
        }

        /// The elements of a member that is an array, a set or a dictionary: of a dictionary the values. Core Data has a
        /// dictionary of its own for known keys, whose values are an array.
        func elements(_ key: String) -> [Value] { object(key)?.elements ?? [] }

        private static let bytesOfElement = 16

        /// The elements, if the object is a collection.
        var elements: [Value] { (object("values") ?? self).list("NS.objects") }

        /// The keys of a member that is a dictionary.
        func keys(_ key: String) -> [Value] { object(key)?.dictionaryKeys ?? [] }

        /// The keys, if the object is a dictionary.
        var dictionaryKeys: [Value] { list("NS.keys") }

        private func list(_ key: String) -> [Value] {
            guard let place = archive.list.member(key, of: reference), case .array(let references) = archive.list[place]
            else { return [] }
            archive.budget.left -= references.count
            var values: [Value] = []
            for reference in references where !archive.isExhausted {
                let value = archive.value(of: reference)
                // A long text counts as several elements, because each value is a copy of it.
                switch value {
                case .text(let text): archive.budget.left -= text.utf8.count / Self.bytesOfElement
                case .bytes(let bytes): archive.budget.left -= bytes.count / Self.bytesOfElement
                default: break
                }
                values.append(value)
            }
            return archive.isExhausted ? [] : values
        }
    }
}

extension BinaryPropertyList {
    /// A member of a dictionary; nil if it's missing, or if the object isn't a dictionary.
    func member(_ key: String, of reference: Reference) -> Reference? {
        guard case .dictionary(let keys, let values) = self[reference] else { return nil }
        for (own, value) in zip(keys, values) {
            if case .text(key) = self[own] { return value }
        }
        return nil
    }
}

extension [KeyedArchive.Value] {
    var objects: [KeyedArchive.Object] { compactMap { if case .object(let object) = $0 { object } else { nil } } }
    var texts: [String] { compactMap { if case .text(let text) = $0 { text } else { nil } } }
}
