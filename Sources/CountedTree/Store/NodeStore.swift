internal import FetchIndexPlatform

/// The number of a node in a node store; 0 means no node.
package typealias NodeNumber = UInt64

/// The storage of a tree's nodes. The tree reads nodes in place and replaces them whole.
///
/// A node's bytes are handed out only inside `read`'s body, and the body must not write to the store.
package protocol NodeStore: AnyObject {
    /// The maximum length of a node in bytes: 256 to 32,767.
    var capacity: Int { get }
    /// Numbers from here on were never allocated.
    var nextNode: NodeNumber { get }

    /// Hands out a node's bytes. Throws `TreeError.corrupted` if the node is missing.
    func read(_ node: NodeNumber, _ body: (RawSpan) throws -> Void) throws
    /// Replaces a node that was allocated here, or in a fork that is being published.
    func write(_ node: NodeNumber, _ bytes: consuming [UInt8]) throws
    /// Allocates a number that was never used; its node is written before it's read.
    func allocate() throws -> NodeNumber
    func free(_ node: NodeNumber) throws
    /// A store with the same nodes, which another thread may read while this one is only read; nil if only one thread
    /// may read.
    func another() -> (any NodeStore)?
    /// Announces that these nodes are read next, so that the store can look them up together.
    func prefetch(_ nodes: [NodeNumber])
    /// Writes nodes, which are in the order of their numbers, and frees the ones without bytes.
    func write(_ nodes: [(node: NodeNumber, bytes: [UInt8]?)]) throws
}

extension NodeStore {
    package func another() -> (any NodeStore)? { nil }

    package func prefetch(_ nodes: [NodeNumber]) {}

    package func write(_ nodes: [(node: NodeNumber, bytes: [UInt8]?)]) throws {
        for (node, bytes) in nodes {
            if let bytes { try write(node, bytes) } else { try free(node) }
        }
    }
}

/// Tells which nodes a store may pad.
package enum NodePadding {
    /// Whether a node encodes its own length, so that padding after it is ignored: all but overflow nodes do.
    package static func isAllowed(behind node: [UInt8]) -> Bool {
        node.first.map { $0 != NodeLayout.Kind.overflow.rawValue } ?? false
    }
}

/// A defect in the bytes that a tree's store hands out.
package enum TreeError: DamageReporting, Equatable, CustomStringConvertible {
    case corrupted(node: NodeNumber, String)

    package var isDamage: Bool { true }

    package var description: String {
        switch self {
        case .corrupted(0, let defect): "a tree of a cache is damaged: \(defect)"
        case .corrupted(let node, let defect): "node \(node) of a cache is damaged: \(defect)"
        }
    }
}
