package import FetchIndex
internal import FetchIndexEssentials
package import FetchIndexModels
internal import FetchIndexValues

extension RowLink {
    /// Reads 12, Entity:12, or 12@c0ff, where c0ff stands for the link's position in an ordered relationship: 6 to 64
    /// bytes in hexadecimal. 12@@c0ff has only the position in the inverse relationship, and 12@c0ff@c0ff has both.
    /// Returns nil for a text that isn't a link. `entity` is the destination of the relationship; `numbers` has the
    /// entities' numbers by name.
    init?(catalogueText text: String, in entity: Int, _ numbers: [String: Int]) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        let name = parts[0].lastIndex(of: ":")
        let digits = name.map { parts[0][parts[0].index(after: $0)...] } ?? parts[0]
        guard parts.count <= 3, let number = UInt64(digits), (1..<RecordKey.firstTemporaryNumber).contains(number)
        else {
            return nil
        }
        var target = entity
        if let name {
            guard let found = numbers[RequestText.unquoted(String(parts[0][..<name]))] else { return nil }
            target = found
        }
        var positions: [[UInt8]?] = []
        for part in parts.dropFirst() {
            guard case .data(let bytes)? = Value(catalogueText: String(part), as: .data) else { return nil }
            // The lengths that `OrderedPosition` makes.
            guard bytes.isEmpty || (6...64).contains(bytes.count) else { return nil }
            positions.append(bytes.isEmpty ? nil : Array(bytes))
        }
        self.init(
            RecordKey(entity: target, number: number), position: positions.first ?? nil,
            otherPosition: positions.count > 1 ? positions[1] : nil)
    }

    /// The text that `init` reads. `entity` is the destination of the relationship.
    package func catalogueText(in entity: Int, _ model: Model) -> String {
        func hexadecimal(_ bytes: [UInt8]?) -> String { Value.data(.init(bytes ?? [])).catalogueText }
        let name = object.entity == entity ? "" : "\(RequestText.quoted(model.entities[object.entity].name)):"
        var text = "\(name)\(object.number)"
        if position != nil || otherPosition != nil { text += "@\(hexadecimal(position))" }
        if otherPosition != nil { text += "@\(hexadecimal(otherPosition))" }
        return text
    }
}
