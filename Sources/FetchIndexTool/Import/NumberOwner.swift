internal import FetchIndex
internal import Models
internal import Records
internal import SystemBasics

/// What a row of a file says of numbers and of related objects.
struct RowLinks {
    /// Of the stored object; nil: the key decides, or it is a new one.
    var number: UInt64?
    /// By which other rows of the file name this one.
    var fileNumber: UInt64?
    /// Whether numbers are those of stored objects.
    var isOwn = true
    var related: [RelatedObject]
}

/// Whose objects the numbers of a file are: this store's, those of the store that it was filled from, or another one's, which are
/// never taken for these. Numbers without a store's name are this store's.
struct NumberOwner {
    /// Whether a key decides which object a row is.
    let isKeyed: Bool
    private let own: String?
    private let origin: NumbersOrigin?
    /// Of the origin's entities to which this store has added objects: the first number that is not the origin's.
    private let ends: [Int: UInt64]
    /// Whether the store has had no objects, so that it takes over the numbers of the first file.
    private let isNew: Bool
    private var last: (text: String, isOwner: Bool)?
    /// The store whose numbers the file has; nil: this one.
    private var source: UUID?

    init(in snapshot: Snapshot, isKeyed: Bool) throws {
        self.isKeyed = isKeyed
        own = snapshot.store.identifier?.uuidString
        let origin = try snapshot.numbersOrigin()
        self.origin = origin
        var ends: [Int: UInt64] = [:]
        var isNew = origin == nil
        for number in snapshot.model.entities.indices {
            if try snapshot.entityState(number).nextObject > 1 { isNew = false }
            if let origin, try !snapshot.follows(origin, number) { ends[number] = origin.ends[number] ?? 1 }
        }
        (self.ends, self.isNew) = (ends, isNew)
    }

    /// Whether the numbers of a store with an identifier are those of objects here.
    mutating func isOwner(_ text: String, of entity: Int) -> Bool {
        if let last, last.text == text { return last.isOwner }
        var isOwner = text == own
        if !isOwner, let store = UUID(uuidString: text) {
            if store == origin?.store || isNew && !isKeyed && source == nil {
                source = store
                isOwner = true
            }
        }
        last = (text, isOwner)
        return isOwner
    }

    /// The store that new objects of an entity come from, with their numbers; nil: this one.
    func source(of entity: Int) -> UUID? { isKeyed || ends[entity] != nil ? nil : source }

    /// Whether a number of the file is that of an object here: the origin may have given a number that this store has given, too.
    func hasGiven(_ number: UInt64, of entity: Int) -> Bool {
        guard source != nil, let end = ends[entity] else { return true }
        return number < end
    }
}
