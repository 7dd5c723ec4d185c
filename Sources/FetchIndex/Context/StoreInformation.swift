/// What `info` tells of a store.
package struct StoreInformation: Encodable {
    package struct Attribute: Encodable {
        package let name: String
        package let type: String
        package let isOptional: Bool
        package let isUnique: Bool
    }

    package struct Entity: Encodable {
        package let name: String
        package let count: Int
        package let attributes: [Attribute]
    }

    package struct Log: Encodable {
        /// The log holds the changes after this commit.
        package let start: UInt64
        package let bytes: Int
        package let limit: Int
    }

    package struct Reader: Encodable {
        package let process: Int
        /// Transactions since the one that it pins.
        package let age: Int
    }

    package let path: String
    package let format: Int
    package let commit: UInt64
    package let fileBytes: Int
    package let freeBytes: Int
    package let entities: [Entity]
    package let log: Log
    package let caches: [String]
    package let readers: [Reader]
}

extension PersistentContainer {
    package func information() throws -> StoreInformation {
        // Asked before the snapshot, which is a reader too.
        let environment = try store.environmentInformation()
        let snapshot = try store.snapshot()
        let entities = try snapshot.model.entities.enumerated().map { number, entity in
            StoreInformation.Entity(
                name: entity.name, count: Int(clamping: try snapshot.entityState(number).count),
                attributes: entity.attributes.map {
                    StoreInformation.Attribute(
                        name: $0.name, type: $0.type.name, isOptional: $0.isOptional, isUnique: $0.isUnique)
                })
        }
        let state = snapshot.state
        return StoreInformation(
            path: store.path, format: Int(StoreLayout.version), commit: state.commit,
            fileBytes: environment.fileBytes, freeBytes: environment.freeBytes, entities: entities,
            log: StoreInformation.Log(
                start: state.logStart, bytes: Int(clamping: state.logBytes), limit: Int(clamping: state.logLimit)),
            caches: try CacheDirectory.names(in: snapshot),
            readers: environment.readers.map { StoreInformation.Reader(process: $0.process, age: $0.age) })
    }

    /// Everything that is wrong with the store at a path, one sentence each: with the pages of its file, and when they are
    /// whole with what they hold. The container is opened only then: LMDB must not read a damaged page. O(n log n).
    package static func check(
        at path: String, opening open: () throws -> PersistentContainer,
        progress: @escaping (_ done: Int, _ total: Int) -> Void
    ) throws -> [String] {
        let defects = try Store.checkPages(at: path)
        guard defects.isEmpty else {
            return defects + ["what the pages hold was not checked, because pages are damaged"]
        }
        return try open().check(progress: progress)
    }

    /// Everything that is wrong with the values of the store and its caches, one sentence each. O(n log n).
    package func check(progress: @escaping (_ done: Int, _ total: Int) -> Void) throws -> [String] {
        let snapshot = try store.snapshot()
        let total = try snapshot.model.entities.indices.reduce(0) {
            $0 + Int(clamping: try snapshot.entityState($1).count)
        }
        var defects = try snapshot.check { progress($0, total) }
        let names = try CacheDirectory.names(in: snapshot)
        if try CacheDirectory.count(in: snapshot) != names.count { defects.append("a cache's name is not UTF-8") }
        for name in names {
            defects += try verifyCache(name, progress: progress).map { "cache \"\(name)\": \($0)" }
        }
        return defects
    }

    /// Everything that is wrong with a cache, one sentence each. Its request is read from the cache.
    package func verifyCache(_ name: String, progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in })
        throws -> [String]
    {
        let header: CacheHeader
        do {
            guard let found = try CacheDirectory.header(name, in: try store.snapshot()) else {
                throw CacheDirectory.UnknownCache(name: name)
            }
            header = found
        } catch let error as UnusableHeader {
            return ["its header is unusable: \(error.reason.rawValue)"]
        }
        var options = OrderOptions(cacheName: name)
        options.progress = progress
        do {
            let request = try compile(try OrderDefinition(header.identity), options)
            // A model or ICU that changed since makes the cache one that is rebuilt, not a wrong one.
            return request.identity == header.identity ? try caches.verify(name, request) : []
        } catch is RequestError {
            return try caches.verify(name, nil)  // A computed section key: only its program can make the rows again.
        } catch let error as FetchPredicateError {
            return ["its request cannot be read: \(error)"]
        } catch let error as StoreError {
            guard case .corrupted = error else { return [] }
            throw error
        }
    }
}
