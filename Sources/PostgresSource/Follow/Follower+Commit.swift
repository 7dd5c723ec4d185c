internal import FetchIndex
internal import FetchIndexModels

// Commits of rows, of the position and of the description of the source.
extension Follower {
    /// Commits rows with the position, and catches the chosen caches up in the same transaction. Calls `done` before it
    /// reports that the store has become consistent.
    func commit(_ writer: KeyedRowWriter, then done: () -> Void = {}) throws {
        let becomesConsistent = isPastCopies && !source.isConsistent && source.isCopied
        if becomesConsistent {
            // Objects of other sources may have foreign keys that name copied rows.
            try linkAll(writer, ofAllSources: hasUnlinkedCopies)
            hasUnlinkedCopies = false
            source.consistentFrom = nil
            for index in source.tables.indices { source.tables[index].snapshot = nil }
        }
        if phase.isFollowing { source.hasWaitingRows = !group.waiting.isEmpty }
        if stored.source != source {
            try writer.setFollowedSource(source, named: name)
            group.noteDescription()
        }
        if let position { try writer.setSourcePosition(position, named: name) }
        try writer.commit(keeping: options.caches)
        stored = Stored(source: source, position: reached ?? LogPosition(0))
        done()
        for sentence in replaced.take() { tell(.warning(sentence)) }
        if becomesConsistent, let end = position?.text { tell(.consistent(end)) }
    }

    /// Whether the position is known to be at least as new as the copied rows. While streaming, this is false if the
    /// store doesn't wait for a position (`consistentFrom` is nil).
    private var isPastCopies: Bool {
        switch phase {
        case .starting: return false
        case .reading(let isPastCopies): return isPastCopies
        case .streaming:
            guard let end = source.consistentFrom.flatMap({ LogPosition($0) }), let reached else { return false }
            return reached >= end
        }
    }

    /// Enters a phase in which changes are followed.
    func begin(_ phase: Phase) throws {
        self.phase = phase
        if isPastCopies {
            // The position has reached the end of the copies already. Unless another copy is due, storing it makes the
            // store consistent.
            try storePosition()
        } else if source.hasWaitingRows || group.takeFinding() {
            try findWaitingRows()
        }
    }

    /// Advances to a position before which the source has no further change for the store.
    func advance(to reached: LogPosition) throws {
        guard let known = self.reached, reached > known else { return }
        position?.text = reached.description
        if isPastCopies { try storePosition() }
    }

    /// Stores the position, and the description of the source if it changed, without applying changes of the source.
    func storePosition() throws {
        try commit(beginWriting(changesRecords: false))
    }

    func storeDescription() throws { if stored.source != source { try storePosition() } }

    /// Links the rows of a commit to the rows that their foreign keys name, and waiting rows to the rows of the commit.
    func linkLater(_ writer: KeyedRowWriter) throws {
        var tables: [Int: [RowTable]] = [:]
        let model = writer.model
        try writer.linkLater { number in
            if let known = tables[number] { return known }
            let found = try rowTables(of: model.entities[number].name, in: model)
            tables[number] = found
            return found
        }
    }

    /// Returns a reader for rows that have exactly the followed columns of a table.
    func reader(of table: FollowedSource.Table, in model: Model) throws -> RowReader {
        try RowReader(table, table.columns.map(\.name), of: source, besides: others, replaced, in: model)
    }
}
