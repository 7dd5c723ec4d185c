/// The key of an object's record: the entity's number in the high 16 bits, the object's number in the others.
///
/// It names the object for as long as the store lives: numbers are never used again.
@usableFromInline
package struct RecordKey: Hashable, Comparable, Sendable {
    // Without @usableFromInline at the type, no other module inlines what a package type has inlinable (Swift 6.3).
    @usableFromInline
    package let rawValue: UInt64

    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    @inlinable
    package init(entity: Int, number: UInt64) {
        rawValue = UInt64(entity) << 48 | number & RecordKey.maximumNumber
    }

    @inlinable
    package static var maximumNumber: UInt64 { (1 << 48) - 1 }

    @inlinable
    package var entity: Int { Int(rawValue >> 48) }

    /// The object's number within its entity, from 1.
    @inlinable
    package var number: UInt64 { rawValue & RecordKey.maximumNumber }

    /// The column in files for the number of a row's object; `storeName` is the one for the store that gave the number.
    /// The name gets another @ if an attribute or a relationship has it.
    package static func numberName(_ isTaken: (String) -> Bool = { _ in false }) -> String { name("@id", isTaken) }

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
    /// #17, or new 17 before the object is saved.
    @usableFromInline
    package var description: String {
        isTemporary ? "new \(number - RecordKey.firstTemporaryNumber)" : "#\(number)"
    }
}
