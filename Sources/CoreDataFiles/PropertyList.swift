internal import CFetchIndexPropertyList

/// A property list whose first object is a dictionary, read by libplist.
final class PropertyList {
    private let list: plist_t

    /// Reads a property list in XML or binary form; nil if the bytes are another thing.
    init?(_ bytes: [UInt8]) {
        guard let length = UInt32(exactly: bytes.count) else { return nil }
        var found: plist_t?
        bytes.withUnsafeBytes { plist_from_memory($0.bindMemory(to: CChar.self).baseAddress, length, &found) }
        guard let list = found else { return nil }
        self.list = list
    }

    deinit { plist_free(list) }

    /// The text of a member; nil if it's missing or not a text.
    func text(_ key: String) -> String? {
        guard plist_get_node_type(list) == PLIST_DICT, let node = plist_dict_get_item(list, key) else { return nil }
        return Self.text(of: node)
    }

    static func text(of node: plist_t) -> String? {
        var length: UInt64 = 0
        guard plist_get_node_type(node) == PLIST_STRING, let start = plist_get_string_ptr(node, &length) else {
            return nil
        }
        return String(decoding: UnsafeRawBufferPointer(start: start, count: Int(length)), as: UTF8.self)
    }
}
