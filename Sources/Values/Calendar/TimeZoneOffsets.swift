internal import CFetchIndexICU
internal import Synchronization

/// The error for a name that isn't a known time zone.
public struct UnknownTimeZone: Error, Equatable, CustomStringConvertible {
    public let name: String
    public var description: String { "\"\(name)\" is not a time zone; write one like \"UTC\" or \"Asia/Tokyo\"" }
}

/// Converts instants to the days of a time zone. Uses the data of a `ZoneFolder` if they are newer than ICU's and have
/// the zone, otherwise ICU's; UTC needs neither. Caches the periods between two changes of the
/// offset.
package final class TimeZoneOffsets: Sendable {
    private struct State {
        // ICU's calendar isn't thread-safe; the mutex around this state guards it.
        nonisolated(unsafe) var zone: OpaquePointer?
        /// The last period that was used: neighbouring rows often share it.
        var last = OffsetPeriod.none
        /// Cached periods, in order.
        var known: [OffsetPeriod] = []
    }

    /// The maximum number of cached periods: 2,000 years with two changes each.
    private static let capacity = 4096

    package let name: String
    /// The version of the data that determines the offsets, with a checksum of the zone's file if the folder's data are
    /// used; "" for UTC.
    package let dataVersion: String
    /// The zone's file if the folder's data are used; nil for ICU's data and for UTC.
    private let file: ZoneFile?
    private let state: Mutex<State>

    /// Throws `UnknownTimeZone` if ICU lacks the zone, and the folder lacks it or isn't newer than ICU's data. Throws
    /// `UnusableTimeZone` if a file of the folder that is needed is damaged or can't be read.
    package init(_ name: String, in folder: ZoneFolder = .ofProcess) throws {
        self.name = name
        if name == "UTC" {
            dataVersion = ""
            file = nil
            state = Mutex(State(last: OffsetPeriod()))
            return
        }
        if try folder.isNewerThanICU(), let found = try folder.zone(name) {
            let version = try folder.version()?.description ?? ""
            dataVersion = "\(version) \(String(found.checksum, radix: 16))"
            file = found
            state = Mutex(State())
            return
        }
        let utf16 = Array(name.utf16)
        guard let zone = fi_zone_open(utf16, Int32(utf16.count)) else { throw UnknownTimeZone(name: name) }
        // `zone` isn't shared before it's in the mutex.
        nonisolated(unsafe) let opened = zone
        dataVersion = fi_zone_data_version().map { String(cString: $0) } ?? ""
        file = nil
        state = Mutex(State(zone: opened))
    }

    deinit {
        state.withLock { state in
            if let zone = state.zone { fi_zone_close(zone) }
        }
    }

    /// Returns the day, in days since 1970 in this zone, to which an instant in seconds since 2001 belongs. Instants
    /// farther than about 100 million years from 2001 are clamped.
    package func day(of moment: Double) -> Int {
        let bound = 3.15e15
        let seconds = min(max(moment.isNaN ? 0 : moment, -bound), bound) + 978_307_200
        return Int(((seconds + offset(at: seconds)) / 86_400).rounded(.down))
    }

    /// The offset, in seconds ahead of UTC, at a moment in seconds since 1970.
    private func offset(at seconds: Double) -> Double {
        state.withLock { state in
            if !state.last.contains(seconds) { look(up: seconds, &state) }
            return state.last.offset
        }
    }

    private func look(up seconds: Double, _ state: inout State) {
        let place = (0..<state.known.count).firstNumber(fromWhich: { state.known[$0].end > seconds })
        if place < state.known.count && state.known[place].contains(seconds) {
            state.last = state.known[place]
            return
        }
        guard let period = file?.period(around: seconds) ?? Self.period(around: seconds, state) else { return }
        state.last = period
        if state.known.count == Self.capacity {
            state.known = [state.last]
        } else {
            state.known.insert(state.last, at: place)
        }
    }

    private static func period(around seconds: Double, _ state: State) -> OffsetPeriod? {
        var milliseconds: Int32 = 0
        var start = 0.0
        var end = 0.0
        guard let zone = state.zone, fi_zone_offset(zone, seconds * 1000, &milliseconds, &start, &end) else {
            return nil
        }
        return OffsetPeriod(start: start / 1000, end: end / 1000, offset: Double(milliseconds) / 1000)
    }
}
