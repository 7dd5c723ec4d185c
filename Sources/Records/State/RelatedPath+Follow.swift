internal import FetchIndexPlatform
package import FetchIndexModels

extension RelatedPath {
    /// Calls the body with each object that the path leads to from `object`, and with its record, until the body
    /// returns false. If the path leads to an object in several ways, the body gets the object several times.
    /// O(objects on the way x log n).
    package func forEachEnd(
        of object: RecordKey, _ record: RawSpan, in state: any RecordState,
        _ body: (RecordKey, RawSpan) throws -> Bool
    ) throws {
        try forEachEnd(of: object, record, in: state, steps: steps.count, body)
    }

    /// The key of the object that a path of to-one relationships leads to, even if that object no longer exists; nil if
    /// a relationship is null, or if an object on the way no longer exists. O(steps x log n).
    package func endKey(of object: RecordKey, _ record: RawSpan, in state: any RecordState) throws -> RecordKey? {
        guard let last = steps.last else { return object }
        var key: RecordKey?
        try forEachEnd(of: object, record, in: state, steps: steps.count - 1) { owner, record in
            if case .reference = last.kind {
                key = try last.target(of: owner, record)
            } else {
                key = try last.next(of: owner, in: state).first
            }
            return false
        }
        return key
    }

    private func forEachEnd(
        of object: RecordKey, _ record: RawSpan, in state: any RecordState, steps count: Int,
        _ body: (RecordKey, RawSpan) throws -> Bool
    ) throws {
        _ = try follow(0, object, record, in: state, until: count, body)
    }

    private func follow(
        _ number: Int, _ object: RecordKey, _ record: RawSpan, in state: any RecordState, until count: Int,
        _ body: (RecordKey, RawSpan) throws -> Bool
    ) throws -> Bool {
        guard number < count else { return try body(object, record) }
        let step = steps[number]
        switch step.kind {
        case .reference:
            guard let target = try step.target(of: object, record) else { return true }
            return try follow(number + 1, target, in: state, until: count, body)
        case .holders, .links:
            for next in try step.next(of: object, in: state) {
                guard try follow(number + 1, next, in: state, until: count, body) else { return false }
            }
            return true
        }
    }

    private func follow(
        _ number: Int, _ object: RecordKey, in state: any RecordState, until count: Int,
        _ body: (RecordKey, RawSpan) throws -> Bool
    ) throws -> Bool {
        var continues = true
        // If a reference leads to a deleted object, the body isn't called for it.
        _ = try state.record(object) { continues = try follow(number, object, $0, in: state, until: count, body) }
        return continues
    }

    /// The number of objects that the path leads to from `object`. If the path leads to an object in several ways, the
    /// object is counted several times. In a store, O(log n) for one to-many relationship; otherwise O(objects on the
    /// way x log n).
    package func endCount(of object: RecordKey, _ record: RawSpan, in state: any RecordState) throws -> Int {
        var count = 0
        if let last = steps.last, case .reference = last.kind {
        } else if let last = steps.last {
            try forEachEnd(of: object, record, in: state, steps: steps.count - 1) { owner, _ in
                count += try state.holderCount(of: last.name, to: owner)
                return true
            }
            return count
        }
        try forEachEnd(of: object, record, in: state) { _, _ in
            count += 1
            return true
        }
        return count
    }

    /// Prefetches the pages that the path from these objects reads. Reads the records of each step in the order of
    /// their keys. O(objects on the way x log n).
    package func readAhead(from objects: [RecordKey], in state: any RecordState) throws {
        var level = Set(objects)
        for step in steps {
            var next: Set<RecordKey> = []
            for object in level.sorted() {
                _ = try state.record(object) { record in
                    if case .reference = step.kind {
                        if let target = try step.target(of: object, record) { next.insert(target) }
                    } else {
                        next.formUnion(try step.next(of: object, in: state))
                    }
                }
            }
            level = next
        }
        for object in level.sorted() { _ = try state.record(object) { _ in } }
    }

    // MARK: Backwards

    /// Adds to `starts` at least the objects from which the path leads to `end`. O(objects on the way x log n).
    package func addStarts(to end: RecordKey, in state: any RecordState, _ starts: inout Set<RecordKey>) throws {
        try addStarts(of: steps.count, end, in: state, &starts)
    }

    /// Adds to `starts` at least the objects from which the path leads through a changed object, in the old or the new
    /// state, if the path reads the changed values. O(objects on the way x log n).
    package func addStarts(
        through change: RecordChange, from old: any RecordState, to new: any RecordState, _ starts: inout Set<RecordKey>
    ) throws {
        guard try concerns(change) else { return }
        let object = change.object
        for (record, state) in [(change.old, old), (change.new, new)] {
            guard let record else { continue }
            for (number, step) in steps.enumerated() {
                if step.to.contains(object.entity) {
                    for previous in try step.previous(of: object, record, in: state) {
                        try addStarts(of: number, previous, in: state, &starts)
                    }
                }
                // The changed object is a join object of the many-to-many relationship that the step follows.
                if case .links = step.kind, step.name.entity == object.entity,
                    let near = try step.target(of: object, record.span.bytes)
                {
                    try addStarts(of: number, near, in: state, &starts)
                }
            }
        }
    }

    /// Adds to `starts` at least the objects from which the first `count` steps of the path lead to `object`.
    private func addStarts(
        of count: Int, _ object: RecordKey, in state: any RecordState, _ starts: inout Set<RecordKey>
    ) throws {
        if count == 0 {
            starts.insert(object)
            return
        }
        // Records may still refer to an object that was deleted, so the object's own record isn't read.
        if case .reference = steps[count - 1].kind {
            for previous in try state.holders(of: steps[count - 1].name, to: object) {
                try addStarts(of: count - 1, previous, in: state, &starts)
            }
            return
        }
        _ = try state.record(object) { record in
            for previous in try steps[count - 1].previous(of: object, [UInt8](copying: record), in: state) {
                try addStarts(of: count - 1, previous, in: state, &starts)
            }
        }
    }

    /// Whether the path reads a value that differs in the change's records. Always true if the path reads the entity,
    /// and one of the records is nil.
    private func concerns(_ change: RecordChange) throws -> Bool {
        guard let slots = reads[change.object.entity] else { return false }
        guard let old = change.old, let new = change.new else { return true }
        let missing = ends?[change.object.entity]?.missingValues ?? []
        let before = try RecordView(old.span.bytes, missing: missing.span.bytes)
        let after = try RecordView(new.span.bytes, missing: missing.span.bytes)
        return try slots.contains { try !before.isEqual(to: after, at: $0) }
    }
}

extension RelatedPath.Step {
    /// The object that a record refers to by one of the step's references; nil if the reference is null.
    fileprivate func target(of holder: RecordKey, _ record: RawSpan) throws -> RecordKey? {
        guard let slot = slots[holder.entity] else { return nil }
        return try RecordView(record).key(at: slot)
    }

    /// The objects that the step leads to from an object: its holders, or for a many-to-many relationship, the objects
    /// that join objects link it to.
    fileprivate func next(of object: RecordKey, in state: any RecordState) throws -> [RecordKey] {
        let holders = try state.holders(of: name, to: object)
        guard case .links(let next) = kind else { return holders }
        return try holders.compactMap { try Self.target(of: $0, slot: next.slot, in: state) }
    }

    /// The objects from which the step leads to `object`.
    fileprivate func previous(
        of object: RecordKey, _ record: [UInt8], in state: any RecordState
    ) throws -> [RecordKey] {
        switch kind {
        case .reference: return try state.holders(of: name, to: object)
        case .holders: return try target(of: object, record.span.bytes).map { [$0] } ?? []
        case .links(let next):
            return try state.holders(of: next, to: object).compactMap {
                try Self.target(of: $0, slot: name.slot, in: state)
            }
        }
    }

    private static func target(of link: RecordKey, slot: Int, in state: any RecordState) throws -> RecordKey? {
        var target: RecordKey?
        _ = try state.record(link) {
            target = try RecordView($0).key(at: slot)
        }
        return target
    }
}
