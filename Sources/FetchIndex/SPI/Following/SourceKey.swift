/// The columns whose values together identify the rows of a followed table; none if the table has no key. They are stored
/// among the members of the table's description, which `info` reads too.
///
/// For the module that follows a source. Users read ``StoreInformation/Source``.
package struct SourceKey: Equatable, Sendable {
    package let columns: [String]

    package init(_ columns: [String]) { self.columns = columns }

    /// The columns' names, separated by commas.
    package var title: String { columns.isEmpty ? "whole rows" : columns.joined(separator: ",") }
}

extension SourceKey: Codable {
    // A key of several columns has a member of its own, so that older programs refuse it.
    private enum CodingKeys: String, CodingKey {
        case key
        case keys
    }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let several = try members.decodeIfPresent([String].self, forKey: .keys)
        self.init(try several ?? [members.decode(String.self, forKey: .key)])
    }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        if columns.count == 1 {
            try members.encode(columns[0], forKey: .key)
        } else {
            try members.encode(columns, forKey: .keys)
        }
    }
}
