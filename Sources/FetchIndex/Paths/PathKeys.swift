/// Caches the key bytes of the value at the end of a path, by the object to which the path's first step leads. This
/// saves time if many rows have, for example, the same author. The cached bytes belong to one state of the store.
final class PathKeys {
    private static let most = 1 << 16

    private var state: UInt64 = 0
    private var keys: [Int64: [UInt8]] = [:]

    /// Appends the key bytes for an object. The body makes them if they aren't cached.
    func append(
        of object: Int64, in state: UInt64, to key: inout [UInt8], _ make: (inout [UInt8]) throws -> Void
    ) rethrows {
        if state != self.state || keys.count >= Self.most { (self.state, keys) = (state, [:]) }
        if let known = keys[object] { return key.append(contentsOf: known) }
        let start = key.count
        try make(&key)
        keys[object] = Array(key[start...])
    }
}
