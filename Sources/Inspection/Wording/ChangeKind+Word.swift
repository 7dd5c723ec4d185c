package import FetchIndex

extension ChangeKind {
    /// inserted, deleted, moved or updated: also the style of a changed row on a page.
    package var participle: String {
        switch self {
        case .insert: "inserted"
        case .delete: "deleted"
        case .move: "moved"
        case .update: "updated"
        }
    }
}
