internal import CICU
internal import Synchronization

/// A time zone that ICU does not know.
public struct UnknownTimeZone: Error, Equatable, CustomStringConvertible {
    public let name: String
    public var description: String { "\"\(name)\" is not a time zone; write one like \"UTC\" or \"Asia/Tokyo\"" }
}

/// Converts instants to the days of a time zone. Caches offsets with the periods in which they are valid: ICU takes 2 µs to
/// find one.
package final class TimeZoneOffsets: Sendable {
    /// Seconds since 1970 from one change of the clocks to the next, and the seconds that they are ahead of UTC.
    private struct Period {
        var start = Double.infinity
        var end = -Double.infinity
        var offset = 0.0

        func contains(_ seconds: Double) -> Bool { seconds >= start && seconds < end }
    }

    private struct State {
        // A calendar of ICU is for one thread at a time; the mutex around this state sees to that.
        nonisolated(unsafe) var zone: OpaquePointer?
        /// The last one used: neighbouring rows often share it.
        var last = Period()
        /// Those found, in order.
        var known: [Period] = []
    }

    /// The maximum number of cached periods: 2,000 years with two changes each.
    private static let capacity = 4096

    package let name: String
    private let state: Mutex<State>

    package init(_ name: String) throws(UnknownTimeZone) {
        self.name = name
        if name == "UTC" {
            state = Mutex(State(last: Period(start: -.infinity, end: .infinity)))
            return
        }
        let utf16 = Array(name.utf16)
        guard let zone = fi_zone_open(utf16, Int32(utf16.count)) else { throw UnknownTimeZone(name: name) }
        // It is not shared yet: it is put into the mutex.
        nonisolated(unsafe) let opened = zone
        state = Mutex(State(zone: opened))
    }

    deinit {
        state.withLock { state in
            if let zone = state.zone { fi_zone_close(zone) }
        }
    }

    /// The version of ICU's time zone data, on which the offsets depend; "" for UTC.
    package var dataVersion: String {
        name == "UTC" ? "" : fi_zone_data_version().map { String(cString: $0) } ?? ""
    }

    /// The day since 1970, in this zone, of an instant in seconds since 2001. Instants beyond 100 million years are clamped.
    package func day(of moment: Double) -> Int {
        let bound = 3.15e15
        let seconds = min(max(moment.isNaN ? 0 : moment, -bound), bound) + 978_307_200
        let offset = state.withLock { state in
            if !state.last.contains(seconds) { Self.look(up: seconds, &state) }
            return state.last.offset
        }
        return Int(((seconds + offset) / 86_400).rounded(.down))
    }

    private static func look(up seconds: Double, _ state: inout State) {
        let place = (0..<state.known.count).firstNumber(fromWhich: { state.known[$0].end > seconds })
        if place < state.known.count && state.known[place].contains(seconds) {
            state.last = state.known[place]
            return
        }
        var milliseconds: Int32 = 0
        var start = 0.0
        var end = 0.0
        guard let zone = state.zone,
            fi_zone_offset(zone, seconds * 1000, &milliseconds, &start, &end)
        else { return }
        state.last = Period(start: start / 1000, end: end / 1000, offset: Double(milliseconds) / 1000)
        if state.known.count == capacity {
            state.known = [state.last]
        } else {
            state.known.insert(state.last, at: place)
        }
    }
}
