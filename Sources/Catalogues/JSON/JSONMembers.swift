internal import FetchIndexCLibrary

/// Reads the members of JSON lines, and numbers their names from 0.
///
/// Lines of one file mostly have the same members in the same order. So a name is first compared with the name that
/// last followed the preceding member's name.
struct JSONMembers {
    private(set) var names: [String] = []
    private var nameBytes: [[UInt8]] = []
    private var numbers: [String: Int] = [:]
    /// The number of the last line's first member.
    private var first = 0
    /// For each member, the number of the member that last followed it in a line.
    private var following: [Int] = []

    /// The numbers of the last line's members, in the line's order.
    private(set) var present: [Int] = []
    /// The last line's values, by the members' numbers; nil if the line lacks the member. A value may point to the
    /// line's bytes.
    private(set) var values: [JSONToken?] = []

    init(_ names: [String] = []) { for name in names { _ = add(name) } }

    private mutating func add(_ name: String) -> Int {
        let number = names.count
        names.append(name)
        nameBytes.append(Array(name.utf8))
        numbers[name] = number
        following.append(number + 1)
        values.append(nil)
        return number
    }

    /// Removes the names with the given number and with greater numbers, and the values of the last line.
    mutating func removeNames(from number: Int) {
        clear()
        for name in names[number...] { numbers[name] = nil }
        names.removeSubrange(number...)
        nameBytes.removeSubrange(number...)
        following.removeSubrange(number...)
        values.removeSubrange(number...)
    }

    private mutating func clear() {
        for number in present { values[number] = nil }
        present.removeAll(keepingCapacity: true)
    }

    private func number(of name: JSONText, expecting expected: Int) -> Int? {
        if case .written(let bytes) = name, expected < nameBytes.count, bytes.equals(nameBytes[expected]) {
            return expected
        }
        return numbers[name.string]
    }

    /// The maximum depth of nested objects whose members are read.
    private static let mostNested = 64

    /// Reads a line that is one object. Adds new names, unless it throws.
    mutating func read(_ line: UnsafeRawBufferPointer, areListsText: Bool, flattens: Bool = false) throws {
        clear()
        let count = names.count
        do {
            var scanner = try JSONScanner(line)
            var last: Int?
            if flattens {
                try readNested(&scanner, in: "", depth: 0, areListsText, &last)
            } else {
                try scanner.members { name, start, scanner in
                    try note(name, at: start, &scanner, areListsText, &last)
                }
            }
            try scanner.requireEnd()
        } catch {
            removeNames(from: count)
            throw error
        }
    }

    /// Reads an object. The members of an object in it get names that begin with its own name and a point.
    private mutating func readNested(
        _ scanner: inout JSONScanner, in prefix: String, depth: Int, _ areListsText: Bool, _ last: inout Int?
    ) throws {
        if depth == Self.mostNested { throw scanner.fault("an object within \(depth) others") }
        try scanner.members { name, start, scanner in
            let isObject = scanner.nextAfterBlanks() == UInt8(ascii: "{")
            let path = prefix + name.string
            if isObject {
                try readNested(&scanner, in: path + ".", depth: depth + 1, areListsText, &last)
            } else if scanner.nextAfterBlanks() == UInt8(ascii: "n"), hasNested(in: path + ".") || numbers[path] == nil
            {
                // An object that is null, or a member that no line has had a value of.
                _ = try scanner.skipNull()
                clearNested(in: path + ".")
                if let number = numbers[path], values[number] == nil { setNull(number) }
            } else {
                try note(.decoded(path), at: start, &scanner, areListsText, &last)
            }
        }
    }

    private func hasNested(in prefix: String) -> Bool { names.contains { $0.hasPrefix(prefix) } }

    /// Sets the members of an object that is null to null. O(names).
    private mutating func clearNested(in prefix: String) {
        for (number, name) in names.enumerated() where values[number] == nil && name.hasPrefix(prefix) {
            setNull(number)
        }
    }

    private mutating func setNull(_ number: Int) {
        values[number] = .null
        present.append(number)
    }

    /// Reads the value of a member; `last` is the number of the member before it.
    private mutating func note(
        _ name: JSONText, at start: Int, _ scanner: inout JSONScanner, _ areListsText: Bool, _ last: inout Int?
    ) throws {
        let expected = last.map { following[$0] } ?? first
        let number = number(of: name, expecting: expected) ?? add(name.string)
        if values[number] != nil { throw JSONScanner.Fault(secondMember: name.string, at: start) }
        guard present.count < CatalogueInput.maximumColumns else { throw JSONScanner.Fault(tooManyMembersAt: start) }
        if let last { following[last] = number } else { first = number }
        values[number] = try scanner.token(areListsText: areListsText)
        present.append(number)
        last = number
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func equals(_ other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        return other.withUnsafeBytes { other in
            guard let base = baseAddress, let otherBase = other.baseAddress else { return true }
            return memcmp(base, otherBase, count) == 0
        }
    }
}
