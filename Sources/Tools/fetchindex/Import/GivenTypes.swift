internal import ArgumentParser
internal import FetchIndex

/// The option `import --types price:integer,*:string`: the types of attributes by their names, and the type of all
/// others.
struct GivenTypes {
    private(set) var named: [(name: String, type: ValueType)] = []
    private var ofOthers: ValueType?

    init(_ text: String) throws {
        for part in RequestText.split(text, at: ",") where !part.isEmpty {
            guard let colon = part.lastIndex(of: ":"),
                let type = ValueType(name: String(part[part.index(after: colon)...]))
            else {
                let names = ValueType.allCases.map(\.name).joined(separator: ", ")
                throw ValidationError("--types expects NAME:TYPE, TYPE one of \(names), not \"\(part)\".")
            }
            // A column that is called * is named in quotation marks.
            if part[..<colon] == "*" {
                ofOthers = type
            } else {
                let name = RequestText.unquoted(String(part[..<colon]))
                if name.isEmpty {
                    throw ValidationError("--types expects NAME:TYPE, and the name of \"\(part)\" is empty.")
                }
                named.append((name, type))
            }
        }
    }

    var isEmpty: Bool { named.isEmpty }

    func types(of columns: [String]) -> [String: ValueType] {
        var types = Dictionary(named.map { ($0.name, $0.type) }) { _, last in last }
        if let ofOthers { for column in columns where types[column] == nil { types[column] = ofOthers } }
        return types
    }
}
