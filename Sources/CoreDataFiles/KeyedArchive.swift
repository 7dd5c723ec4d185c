internal import CFetchIndexPropertyList

/// The objects of a keyed archive, as Foundation writes it: a binary property list with a list of objects that refer to
/// each other by their places in it. libplist reads the list; nothing is decoded before it's asked for, and no class is
/// looked up.
///
///     $top        root: the place of the first object
///     $objects    "$null" | dictionaries with $class and members | texts, numbers and bytes
final class KeyedArchive {
    /// Why an archive can't be read.
    struct Malformed: Error { let reason: String }

    private let list: plist_t
    private let objects: plist_t

    /// Reads an archive. Throws `Malformed`. O(bytes).
    init(_ bytes: [UInt8]) throws {
        guard let length = UInt32(exactly: bytes.count), bytes.starts(with: "bplist0".utf8) else {
            throw Malformed(reason: "it is not a binary property list")
        }
        var found: plist_t?
        bytes.withUnsafeBytes { plist_from_bin($0.bindMemory(to: CChar.self).baseAddress, length, &found) }
        guard let list = found else { throw Malformed(reason: "the property list is damaged") }
        self.list = list
        guard plist_get_node_type(list) == PLIST_DICT, let objects = plist_dict_get_item(list, "$objects"),
            plist_get_node_type(objects) == PLIST_ARRAY
        else {
            plist_free(list)
            throw Malformed(reason: "the property list is not a keyed archive")
        }
        self.objects = objects
    }

    deinit { plist_free(list) }

    /// The first object. Throws `Malformed` if it's missing.
    func root() throws -> Object {
        if let top = plist_dict_get_item(list, "$top"), plist_get_node_type(top) == PLIST_DICT,
            let place = plist_dict_get_item(top, "root"), case .object(let object) = value(of: place)
        {
            return object
        }
        throw Malformed(reason: "the archive has no first object")
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

    /// The value of a node, or of the object to which it refers.
    private func value(of node: plist_t) -> Value {
        var node = node
        if plist_get_node_type(node) == PLIST_UID {
            var place: UInt64 = 0
            plist_get_uid_val(node, &place)
            guard place > 0, place < plist_array_get_size(objects),
                let object = plist_array_get_item(objects, UInt32(place))
            else { return .null }
            node = object
        }
        switch plist_get_node_type(node) {
        case PLIST_STRING:
            return PropertyList.text(of: node).map { .text($0) } ?? .null
        case PLIST_UINT:
            // The bits of a negative number are those of a signed one.
            var number: UInt64 = 0
            plist_get_uint_val(node, &number)
            return .integer(Int64(bitPattern: number))
        case PLIST_REAL:
            var number = 0.0
            plist_get_real_val(node, &number)
            return .real(number)
        case PLIST_BOOLEAN:
            var flag: UInt8 = 0
            plist_get_bool_val(node, &flag)
            return .flag(flag != 0)
        case PLIST_DATA:
            var length: UInt64 = 0
            guard let start = plist_get_data_ptr(node, &length) else { return .bytes([]) }
            return .bytes(Array(UnsafeRawBufferPointer(start: start, count: Int(length))))
        case PLIST_DICT: return .object(Object(archive: self, node: node))
        default: return .null
        }
    }

    /// An archived object: a dictionary of members.
    struct Object {
        fileprivate let archive: KeyedArchive
        fileprivate let node: plist_t

        /// The name of the object's class; empty if it's unknown.
        var className: String {
            guard case .object(let description) = self["$class"], case .text(let name) = description["$classname"]
            else {
                return ""
            }
            return name
        }

        /// A member; null if it's missing.
        subscript(_ key: String) -> Value {
            guard let member = plist_dict_get_item(node, key) else { return .null }
            return archive.value(of: member)
        }

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

        /// The elements, if the object is a collection.
        var elements: [Value] { (object("values") ?? self).list("NS.objects") }

        /// The keys of a member that is a dictionary.
        func keys(_ key: String) -> [Value] { object(key)?.list("NS.keys") ?? [] }

        private func list(_ key: String) -> [Value] {
            guard let list = plist_dict_get_item(node, key), plist_get_node_type(list) == PLIST_ARRAY else { return [] }
            return (0..<plist_array_get_size(list)).compactMap { index in
                plist_array_get_item(list, index).map(archive.value)
            }
        }
    }
}

extension [KeyedArchive.Value] {
    var objects: [KeyedArchive.Object] { compactMap { if case .object(let object) = $0 { object } else { nil } } }
    var texts: [String] { compactMap { if case .text(let text) = $0 { text } else { nil } } }
}
