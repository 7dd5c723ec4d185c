internal import FetchIndexPlatform

/// The number of a node in a node store; 0 means no node.
package typealias NodeNumber = UInt64

/// Stores the nodes of trees. The trees read nodes in place and replace them whole.
///
/// A node's bytes are valid only in the body that `read` calls, and that body must not write to the store.
package protocol NodeStore: AnyObject {
    /// The maximum length of a node in bytes, from 256 to 32,767.
    var capacity: Int { get }
    /// A number that is greater than the number of each node in the store.
    var nextNode: NodeNumber { get }

    /// Calls the body with a node's bytes. Throws `TreeError.corrupted` if the node is missing.
    func read(_ node: NodeNumber, _ body: (RawSpan) throws -> Void) throws
    /// Writes or replaces the bytes of a node that was allocated in this store, or in a fork that is being published to
    /// it.
    func write(_ node: NodeNumber, _ bytes: consuming [UInt8]) throws
    /// Returns the number of a new node, which was `nextNode`. The node must be written before it's read.
    func allocate() throws -> NodeNumber
    func free(_ node: NodeNumber) throws
    /// Announces that these nodes will be read next, so that the store can look them up together.
    func prefetch(_ nodes: [NodeNumber])
    /// Writes nodes, which must be in the order of their numbers. Frees the nodes whose bytes are nil.
    func write(_ nodes: [(node: NodeNumber, bytes: [UInt8]?)]) throws
}

extension NodeStore {
    package func prefetch(_ nodes: [NodeNumber]) {}

    package func write(_ nodes: [(node: NodeNumber, bytes: [UInt8]?)]) throws {
        for (node, bytes) in nodes {
            if let bytes { try write(node, bytes) } else { try free(node) }
        }
    }
}

/// The rule for padding the nodes of a tree.
package enum NodePadding {
    /// Whether a store may append padding to this node. Readers ignore padding if the node's bytes show where its cells
    /// end, as in all nodes except overflow nodes.
    package static func isAllowed(behind node: [UInt8]) -> Bool {
        node.first.map { $0 != NodeLayout.Kind.overflow.rawValue } ?? false
    }
}

/// The bytes of a tree, or the entries or edits for it, are damaged.
package enum TreeError: DamageReporting, Equatable, CustomStringConvertible {
    case corrupted(node: NodeNumber, String)

    package var isDamage: Bool { true }

    package var description: String {
        switch self {
        case .corrupted(0, let defect): "a tree of an order is damaged: \(defect)"
        case .corrupted(let node, let defect): "node \(node) of an order is damaged: \(defect)"
        }
    }
}
