/// A cache of the key bytes that a path gives, by the object to which its first step leads, because many rows have the
/// same author. It is valid for one state.
final class PathKeys {
    private static let most = 1 << 16

    private var state: UInt64 = 0
    private var keys: [Int64: [UInt8]] = [:]

    /// Appends the bytes of an object, which the body makes if they aren't cached.
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
