/// The memory in which a record is assembled: the ends of its values, followed by the values.
///
/// Arrays would check at each change whether they are shared, which was 9 % of the instructions of an import that
/// changes nothing.
final class RecordMemory {
    struct End {
        let offset: UInt32
        let isNull: Bool
    }

    /// The addresses, and the capacity in slots and bytes. Users keep a copy of it beside the object, because each
    /// access through the object would retain it.
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
