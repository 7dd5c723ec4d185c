/// How much of a followed table is in the store.
//
//     first(nil) ──range──▶ first(key) ──last range──▶ copied
//         │                     │                        │
//         └─────────────────────┴──── requireCopy ───────┤
//                                                        ▼
//                               copied ◀──last range── again
//
// A table is copied again, for example, after a change of the table that the rows of the stream don't show, after
// changes were lost, or if the user asks for it.
package enum CopyState: Equatable, Sendable {
    /// The table was copied, and no other copy is due.
    case copied
    /// Rows must be copied. If `after` isn't nil, the table may have had another form before this position of the
    /// source's log, and the copy waits until the stream has passed the position, so that older rows of the stream
    /// aren't written over copied ones.
    case due(Copy, after: LogPosition?)

    package enum Copy: Equatable, Sendable {
        /// The first copy, which is committed range by range. It continues after `through`, the key of the last
        /// committed row as the texts of its columns; if nil, it begins with the first row.
        case first(through: [String]?)
        /// A copy over the rows that the store has. At its end, rows that the table no longer has are deleted. Each
        /// attempt begins with the first row, because only an attempt that has read all rows knows which rows are gone.
        case again
    }

    package static let new = CopyState.due(.first(through: nil), after: nil)

    package var isCopied: Bool { self == .copied }

    /// The position that the stream must have passed before rows are copied, if any.
    package var after: LogPosition? { if case .due(_, let after) = self { after } else { nil } }

    /// False only for a first copy that hasn't committed a range yet.
    package var hasBegun: Bool { if case .due(.first(through: nil), _) = self { false } else { true } }

    /// The key after which a copy continues; nil if it begins with the first row.
    package var key: [String]? { if case .due(.first(let key), _) = self { key } else { nil } }

    /// Whether rows that the table no longer has are deleted at the copy's end.
    package var replaces: Bool { if case .due(.again, _) = self { true } else { false } }

    /// Makes another copy due. Rows that the table no longer has may stay in the store until that copy's end.
    package mutating func requireCopy() { self = .due(.again, after: after) }

    /// Makes a due copy wait until the stream has passed a position; if `position` is nil, the copy needn't wait. Does
    /// nothing if no copy is due.
    package mutating func wait(after position: LogPosition?) {
        if case .due(let copy, _) = self { self = .due(copy, after: position) }
    }

    /// Sets the key after which a first copy continues: the last key of a range. Does nothing if no first copy is due.
    package mutating func advance(through key: [String]?) {
        if case .due(.first, let after) = self { self = .due(.first(through: key), after: after) }
    }
}

// The stored form: members of the table's JSON. Earlier versions could store `copiedThrough` together with a true
// `replaces`; the key is ignored in that case.
extension CopyState: Codable {
    private enum CodingKeys: String, CodingKey {
        case isCopied
        case copiedThrough
        case copiedThroughKeys
        case replaces
        case changedUntil
    }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let replaces = try members.decode(Bool.self, forKey: .replaces)
        if try members.decode(Bool.self, forKey: .isCopied) {
            self = .copied
            return
        }
        let key =
            try members.decodeIfPresent([String].self, forKey: .copiedThroughKeys)
            ?? members.decodeIfPresent(String.self, forKey: .copiedThrough).map { [$0] }
        let after = try members.decodeIfPresent(String.self, forKey: .changedUntil).map { text in
            guard let position = LogPosition(text) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .changedUntil, in: members, debugDescription: "\(text) is not a position of a log")
            }
            return position
        }
        self = .due(replaces ? .again : .first(through: key), after: after)
    }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(isCopied, forKey: .isCopied)
        if let key, key.count > 1 {
            try members.encode(key, forKey: .copiedThroughKeys)
        } else {
            try members.encodeIfPresent(key?.first, forKey: .copiedThrough)
        }
        try members.encode(replaces, forKey: .replaces)
        try members.encodeIfPresent(after?.description, forKey: .changedUntil)
    }
}
