import FetchIndex
import FetchIndexPostgresSource
import Foundation
import Synchronization
import FetchIndexTestSupport

/// A store that follows several sources.
final class FollowedSources {
    let followed = Followed(address: "")
    private let shard: FollowedSource.Shard
    /// The sources that have copied tables, for each table.
    private(set) var copies: [String] = []
    /// The errors of sources that couldn't be followed.
    private(set) var failures: [String] = []

    init(isInKey: Bool = true) { shard = FollowedSource.Shard("shard", isInKey: isInKey) }

    /// Adds a source, whose tables get the shard attribute except `Country`, and follows all until they are current.
    func follow(
        _ name: String, _ address: String, _ tables: [String], _ change: (inout FollowOptions) throws -> Void = { _ in }
    ) throws {
        try follow { options in
            (options.name, options.address) = (name, address)
            options.tables = try tables.map {
                var choice = try TableChoice($0)
                if choice.entity != "Country" { choice.shard = shard }
                return choice
            }
            try change(&options)
        }
    }

    /// Follows all sources until they are current.
    func follow(_ change: (inout FollowOptions) throws -> Void = { _ in }) throws {
        var options = FollowOptions()
        (options.endsWhenCurrent, options.rangeLength) = (true, 7)
        try change(&options)
        let end = Date() + 180
        let failed = Mutex<[String]>([])
        let copied = Mutex<[String]>([])
        let followers = try Followers(storeAt: followed.store, options, isInterrupted: { Date() > end }) {
            name, event in
            if case .copied = event { copied.withLock { $0.append(name) } }
            if case .failed(let error) = event { failed.withLock { $0.append("\(name): \(error)") } }
        }
        defer {
            failures += failed.withLock { $0 }
            copies += copied.withLock { $0 }
        }
        try followers.run()
        if Date() > end { throw Followed.NeverCurrent() }
    }

    /// The values of all objects as texts, in the order of the first two columns.
    func rows(_ entity: String, _ columns: [String]) throws -> [[String?]] {
        try followed.values(entity, columns, sortedBy: Array(columns.prefix(2)))
    }
}
