/// The layout of a record's bytes.
///
///     width 1 | slots 2 | null bitmap, a bit per slot | end of each value, `width` bytes x slots | values | checksum 4
///
/// The width of the ends is 1, 2 or 4 bytes, depending on the length of all values; an end is an offset from the start
/// of the first value. Slots are the permanent numbers of the entity's attributes, references and positions. A record
/// lacks the slots of attributes that were added after it was written: the object has the default values of these
/// attributes. Slots of removed attributes are ignored.
///
///     boolean  1 byte             integer  0 to 8 bytes, two's complement without redundant high bytes
///     double   8 bytes            date     seconds since 2001 as a double
///     uuid     16 bytes           string, url, data  their bytes          decimal  its decimal text
@usableFromInline
package enum RecordLayout {
    @inlinable
    package static var headerLength: Int { 3 }
    @inlinable
    package static var checksumLength: Int { 4 }

    @inlinable
    package static func nullBitmapLength(slots: Int) -> Int { (slots + 7) >> 3 }
}
