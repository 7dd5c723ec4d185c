/// A change of a change file: a JSON line, or a row of CSV or TSV.
///
///     {"op":"insert|update|upsert|delete","key":…,"values":{…}}
package struct ChangeLine {
    package enum Operation: String {
        case insert
        case update
        /// An update if the object exists, otherwise an insertion.
        case upsert
        case delete
    }

    package let operation: Operation
    /// The key; nil if it is missing or null.
    package let key: JSONScalar?
    package let values: [String: JSONScalar]

    init(_ operation: Operation, key: JSONScalar?, values: [String: JSONScalar] = [:]) {
        (self.operation, self.key, self.values) = (operation, key, values)
    }

    /// Parses a line. Unknown members are errors, because the change of a misspelt member would otherwise be lost. If
    /// `areListsText`, lists and objects among the values are read as JSON text.
    package init(
        _ line: UnsafeRawBufferPointer, _ number: Int, in file: String, areListsText: Bool = false
    ) throws {
        func bad(_ reason: String) -> BadInput { BadInput(file: file, line: number, reason: reason) }
        var name: String?
        var key = JSONScalar.null
        var values: [String: JSONScalar] = [:]
        do {
            var scanner = try JSONScanner(line)
            try scanner.wholeObject { member, scanner in
                switch member {
                case "op": name = try scanner.text()
                case "key": key = try scanner.scalar()
                case "values":
                    if try scanner.skipNull() { return }
                    try scanner.object { name, scanner in
                        values[name] = try scanner.scalar(areListsText: areListsText)
                    }
                default: throw bad("\"\(member.excerpt)\" is not op, key or values")
                }
            }
        } catch let fault as JSONScanner.Fault {
            throw bad("it is not a change like {\"op\":\"update\",\"key\":…,\"values\":{…}}: \(fault)")
        }
        guard let name else { throw bad("it is not a change: it has no \"op\"") }
        guard let operation = Operation(rawValue: name) else { throw bad(Operation.unknown(name)) }
        self.operation = operation
        self.key = key == .null ? nil : key
        self.values = values
    }
}

extension ChangeLine.Operation {
    /// The reason why a line with an unknown operation is bad.
    static func unknown(_ name: String) -> String {
        "\"op\" is \"\(name.excerpt)\", not insert, update, upsert or delete"
    }
}
