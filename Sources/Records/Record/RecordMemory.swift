/// The memory in which a record is assembled: the ends of its values, and then the values.
///
/// If this were an array, each change would check whether the array is shared. That took 9 % of the instructions of an
/// import that changes no objects.
final class RecordMemory {
    struct End {
        let offset: UInt32
        let isNull: Bool
    }

    /// The addresses of the ends and the values, and the capacity in slots and bytes. A builder holds a copy of this
    /// struct beside the object, since accesses through the object may retain the object.
    struct Room {
        let ends: UnsafeMutablePointer<End>
        let values: UnsafeMutableRawPointer
        let slots: Int
        let byteCount: Int
    }

    let room: Room

    init(slots: Int, byteCount: Int) {
        let endsLength = slots * MemoryLayout<End>.stride
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: endsLength + byteCount, alignment: MemoryLayout<End>.alignment)
        room = Room(
            ends: memory.bindMemory(to: End.self, capacity: slots), values: memory + endsLength, slots: slots,
            byteCount: byteCount)
    }

    deinit { UnsafeMutableRawPointer(room.ends).deallocate() }
}
