/// The key of an object's record: the entity's number in the high 16 bits, the object's number in the low 48 bits. A
/// key isn't used again after the object's deletion, with the exceptions that ``ObjectID`` lists.
@usableFromInline
package struct RecordKey: Hashable, Comparable, Sendable {
    // @usableFromInline at the type lets other modules inline its inlinable members (Swift 6.3).
    @usableFromInline
    package let rawValue: UInt64

    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    @inlinable
    package init(entity: Int, number: UInt64) {
        rawValue = UInt64(entity) << 48 | number & RecordKey.maximumNumber
    }

    /// The key of the object to which a reference leads. A record has references as integers.
    @inlinable
    package init(reference: Int64) { rawValue = UInt64(bitPattern: reference) }

    @inlinable
    package static var maximumNumber: UInt64 { (1 << 48) - 1 }

    @inlinable
    package var entity: Int { Int(rawValue >> 48) }

    /// The object's number within its entity, counted from 1.
    @inlinable
    package var number: UInt64 { rawValue & RecordKey.maximumNumber }

    /// The name of the column of object numbers in exported files: `@id`, to which an @ is prepended until no attribute
    /// or relationship has the name.
    package static func numberName(_ isTaken: (String) -> Bool = { _ in false }) -> String { name("@id", isTaken) }

    /// The name of the column of the stores that assigned the object numbers, `@store`, made like `numberName`.
    package static func storeName(_ isTaken: (String) -> Bool = { _ in false }) -> String { name("@store", isTaken) }

    private static func name(_ plain: String, _ isTaken: (String) -> Bool) -> String {
        var name = plain
        while isTaken(name) { name = "@" + name }
        return name
    }

    /// The first number of objects that aren't saved yet; greater than the number of any saved object.
    @inlinable
    package static var firstTemporaryNumber: UInt64 { 1 << 47 }

    @inlinable
    package var isTemporary: Bool { number >= RecordKey.firstTemporaryNumber }

    @inlinable
    package static func < (left: RecordKey, right: RecordKey) -> Bool { left.rawValue < right.rawValue }
}

extension RecordKey: CustomStringConvertible {
    /// `#17`, or `new 17` before the object is saved.
    @usableFromInline
    package var description: String {
        isTemporary ? "new \(number - RecordKey.firstTemporaryNumber)" : "#\(number)"
    }
}
