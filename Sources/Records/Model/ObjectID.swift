/// Names one object of a store, for as long as the store lives: numbers are never used again.
public struct ObjectID: Hashable, Comparable, Sendable {
    /// The key of the records table: the entity's number in the high 16 bits, the object's in the others.
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package init(entity: Int, number: UInt64) {
        rawValue = UInt64(entity) << 48 | number & ObjectID.maximumNumber
    }

    package static let maximumNumber: UInt64 = (1 << 48) - 1

    package var entity: Int { Int(rawValue >> 48) }

    /// Numbers from here on are of objects that are not saved yet: greater than any saved object's.
    package static let firstTemporaryNumber: UInt64 = 1 << 47

    /// Whether the object is not saved yet. It gets its permanent id when it is.
    public var isTemporary: Bool { number >= ObjectID.firstTemporaryNumber }

    /// The object's number within its entity, from 1.
    public var number: UInt64 { rawValue & ObjectID.maximumNumber }

    public static func < (left: ObjectID, right: ObjectID) -> Bool { left.rawValue < right.rawValue }
}

extension ObjectID: CustomStringConvertible {
    /// #17, or new 17 before it is saved.
    public var description: String {
        isTemporary ? "new \(number - ObjectID.firstTemporaryNumber)" : "#\(number)"
    }
}
