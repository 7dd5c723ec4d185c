/// Where a record is put together: the ends of its values, and behind them the values.
///
/// Memory of its own, because arrays ask at each change whether they are shared: that was 9 % of the instructions of an import that
/// changes nothing.
final class RecordMemory {
    struct End {
        let offset: UInt32
        let isNull: Bool
    }

    /// The addresses, and the slots and bytes that there is room for. Users keep a copy of it beside the object: to reach into the object
    /// would retain it each time.
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
