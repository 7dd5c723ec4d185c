package import FetchIndexValues

/// The types that a user gives the columns of a file.
package struct GivenTypes: Sendable {
    package var named: [(name: String, type: ValueType)] = []
    /// The type of all other columns; if nil, their types are inferred.
    package var ofOthers: ValueType?

    package init() {}

    var isEmpty: Bool { named.isEmpty }

    func types(of columns: [String]) -> [String: ValueType] {
        var types = Dictionary(named.map { ($0.name, $0.type) }) { _, last in last }
        if let ofOthers { for column in columns where types[column] == nil { types[column] = ofOthers } }
        return types
    }
}
