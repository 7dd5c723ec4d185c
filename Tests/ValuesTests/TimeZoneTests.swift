import Foundation
import FetchIndexTestSupport
import Testing

@testable import FetchIndexValues

/// Days and offsets of time zones, by the system's data, by files that the tests write, and by ICU's data.
@Suite struct TimeZoneTests {
    private static let system = ZoneFolder(path: "")
    private static let hasSystemData = (try? system.version()) != nil
    private static let hasPython =
        (try? TemporaryFolder.run("python3", ["-c", "import zoneinfo"]))?.status == 0
    /// Whether the system's data have the summer time of Cairo since 2023, and the single zone of Kazakhstan since
    /// 2024.
    private static let knows2024 = (try? system.version()).map { $0 >= ZoneDataVersion("2024a") ?? $0 } ?? false

    private let folder = TemporaryFolder()

    private func day(_ moment: String, _ zone: TimeZoneOffsets) -> String {
        guard case .date(let date) = Value(moment, as: .date) else { return "\(moment) isn't a date" }
        var name: [UInt8] = []
        let day = zone.day(of: date.timeIntervalSinceReferenceDate)
        CalendarUnit.day.appendName(ofFirst: day, to: &name)
        return String(decoding: name, as: UTF8.self)
    }

    private func write(_ zones: [String: CompiledZone], version: String = "2099a") throws -> ZoneFolder {
        try CompiledZone.write(zones, version: version, to: folder.path)
        return ZoneFolder(path: folder.path)
    }

    // The system's zones may include fat files, slim files and links.
    @Test(.enabled(if: hasSystemData && hasPython, "no time zone data with a version, or no Python with zoneinfo"))
    func timeZoneOffsetsAgreeWithPython() throws {
        let seed = 61 &+ TestSettings.seed
        var last: (name: Substring, zone: ZoneFile?) = ("", nil)
        var (zones, offsets): (Int, TimeZoneOffsets?) = (0, nil)
        for (name, moment, offset) in try ask("zone_offsets.py", "/usr/share/zoneinfo", "\(seed)", "40") {
            if name != last.name {
                last = (name, try Self.system.zone(String(name)))
                offsets = try Self.system.isNewerThanICU() ? TimeZoneOffsets(String(name), in: Self.system) : nil
                zones += 1
            }
            let period = try #require(last.zone, "\(name)").period(around: moment)
            if period.offset != offset || !period.contains(moment) {
                Issue.record("\(name) at \(moment): \(period), not \(offset), seed \(seed)")
            }
            let day = Int(((moment + offset) / 86_400).rounded(.down))
            if let offsets, offsets.name != "UTC", offsets.day(of: moment - 978_307_200) != day {
                Issue.record("\(name) at \(moment) is not on day \(day), seed \(seed)")
            }
        }
        #expect(zones > 300)
    }

    @Test(.enabled(if: hasPython, "no Python")) func offsetsByRandomRulesAgreeWithTheCLibrary() throws {
        let seed = 62 &+ TestSettings.seed
        var last: (text: Substring, rule: ZoneRule?) = ("", nil)
        for (text, moment, offset) in try ask("zone_rules.py", "\(seed)", "400", "50") {
            if text != last.text { last = (text, ZoneRule(text.utf8)) }
            let period = try #require(last.rule, "\(text)").period(around: moment)
            if period.offset != offset || !period.contains(moment) {
                Issue.record("\(text) at \(moment): \(period), not \(offset), seed \(seed)")
            }
        }
    }

    /// Runs a script in Tests/Oracles. Returns its lines, each with a text, a moment and an offset.
    private func ask(_ script: String, _ arguments: String...) throws -> [(Substring, Double, Double)] {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let answer = folder.path + "/answer"
        let path = "\(tests.path)/Oracles/\(script)"
        try #require(TemporaryFolder.run("python3", [path] + arguments + [answer]).status == 0)
        return try String(contentsOfFile: answer, encoding: .utf8).split(separator: "\n").map { line in
            let parts = line.split(separator: " ")
            return (parts[0], try #require(Double(parts[1])), try #require(Double(parts[2])))
        }
    }

    @Test(.enabled(if: knows2024, "the system's time zone data are older than 2024a"))
    func daysFollowRecentChangesOfTimeZones() throws {
        let cairo = try TimeZoneOffsets("Africa/Cairo")
        #expect(day("2023-07-01T21:30:00Z", cairo) == "2023-07-02")
        #expect(day("2023-12-01T21:30:00Z", cairo) == "2023-12-01")
        // At the end of 31 October 2024, clocks go back by an hour, to 23:00 of the same day.
        #expect(day("2024-10-31T20:59:59Z", cairo) == "2024-10-31")
        #expect(day("2024-10-31T21:59:59Z", cairo) == "2024-10-31")
        #expect(day("2024-10-31T22:00:00Z", cairo) == "2024-11-01")
        #expect(day("2399-07-01T21:30:00Z", cairo) == "2399-07-02")
        let almaty = try TimeZoneOffsets("Asia/Almaty")
        #expect(day("2024-02-29T17:59:59Z", almaty) == "2024-02-29")
        #expect(day("2024-02-29T18:30:00Z", almaty) == "2024-02-29")
        #expect(day("2024-02-29T19:00:00Z", almaty) == "2024-03-01")
        let nuuk = try TimeZoneOffsets("America/Nuuk")
        #expect(day("2024-01-01T01:59:59Z", nuuk) == "2023-12-31")
        #expect(day("2024-01-01T02:00:00Z", nuuk) == "2024-01-01")
        #expect(day("2024-07-01T01:00:00Z", nuuk) == "2024-07-01")
        #expect(day("2024-03-30T21:30:00Z", try TimeZoneOffsets("Asia/Gaza")) == "2024-03-30")
        // Another name of the zone and other calendars have the same days.
        #expect(day("2023-07-01T21:30:00Z", try TimeZoneOffsets("Egypt")) == "2023-07-02")
        let sections = try DateSections(.year, timeZone: "Africa/Cairo", .coptic)
        let coptic = try sections.name(of: -978_307_200 + 1_694_466_000 - 1)  // 2023-09-11, before midnight
        #expect(String(decoding: coptic, as: UTF8.self) == "2022-09-11")
    }

    @Test func theNewerOfTwoVersionsOfZoneDataIsUsed() throws {
        let zone = CompiledZone(offsets: [3600 * 14], rule: "<+14>-14")
        let newer = try write(["Africa/Cairo": zone], version: "2099b")
        let cairo = try TimeZoneOffsets("Africa/Cairo", in: newer)
        #expect(day("2024-01-01T10:00:00Z", cairo) == "2024-01-02")
        #expect(cairo.dataVersion.hasPrefix("2099b "))
        // ICU supplies older names of the zone, and all zones that the folder lacks.
        #expect(day("2024-01-01T10:00:00Z", try TimeZoneOffsets("Egypt", in: newer)) == "2024-01-02")
        let tokyo = try TimeZoneOffsets("Asia/Tokyo", in: newer)
        #expect(day("2024-01-01T15:00:00Z", tokyo) == "2024-01-02")
        #expect(tokyo.dataVersion == ZoneFolder.versionOfICU?.description)
        for version in ["2001a", "", "new", "99999a", "2099"] {
            let older = try write(["Africa/Cairo": zone], version: version)
            let cairo = try TimeZoneOffsets("Africa/Cairo", in: older)
            #expect(day("2024-01-01T10:00:00Z", cairo) == "2024-01-01", "\(version)")
            #expect(cairo.dataVersion == ZoneFolder.versionOfICU?.description)
        }
        let missing = ZoneFolder(path: folder.path + "/missing")
        #expect(try missing.version() == nil)
        #expect(day("2024-01-01T15:00:00Z", try TimeZoneOffsets("Asia/Tokyo", in: missing)) == "2024-01-02")
    }

    @Test func zoneDataVersionsAreOrderedByRelease() throws {
        let versions = ["2022e", "2023a", "2024a", "2024b", "2024z", "2024za", "2025a"]
        let read = try versions.map { try #require(ZoneDataVersion($0)) }
        #expect(read == read.sorted() && Set(read.map(\.description)).count == read.count)
        #expect(ZoneDataVersion("2024b-3-gabc")?.description == "2024b-3-gabc")
        for text in ["", "2024", "a2024", "24a", "2024 a", "2024a\n", "２０２４a", "2024A"] {
            #expect(ZoneDataVersion(text) == nil, "\(text)")
        }
    }

    @Test func zoneNamesCannotLeaveTheFolder() throws {
        let inside = try write(["Inside/Zone": CompiledZone(offsets: [0], rule: "UTC0")])
        let zone = CompiledZone(offsets: [0], rule: "UTC0")
        try CompiledZone.write(["Zone": zone, "right/Zone": zone], version: "2099a", to: folder.path + "/Outside")
        #expect(try inside.zone("Inside/Zone") != nil)
        #expect(try inside.zone("Outside/Zone") != nil)
        let outer = ZoneFolder(path: folder.path + "/Outside")
        #expect(try outer.zone("Zone") != nil)
        for name in [
            "", "/", "Zone/", "//Zone", "./Zone", "../Inside/Zone", "\(folder.path)/Inside/Zone", "right/Zone",
            "Zone\0", "Zone ", "Zöne", "tzdata.zi", String(repeating: "Zone/", count: 2000) + "Zone",
        ] {
            #expect(try outer.zone(name) == nil, "\(name)")
            #expect(throws: UnknownTimeZone.self) { try TimeZoneOffsets(name, in: outer) }
        }
    }

    @Test func unusualTimeZoneRulesGiveAnOffsetAtEachMoment() throws {
        func offset(_ rule: String, _ moment: Double) throws -> Double {
            let file = try ZoneFile(CompiledZone(offsets: [0], rule: rule).bytes)
            let period = file.period(around: moment)
            #expect(period.contains(moment), "\(rule) at \(moment): \(period)")
            return period.offset / 3600
        }
        let newYear = 1_704_067_200.0  // 2024
        for hours in stride(from: -48.0, to: 48, by: 0.5) {
            #expect(try offset("EST5EDT,0/0,J365/25", newYear + hours * 3600) == -4)
            #expect(try offset("<+03>-3", newYear + hours * 3600) == 3)
            // The rule changes clocks between 30 December and 2 January, by days of this and of the next year.
            for rule in ["AAA0BBB,J364/0,J2/1", "AAA0BBB,J6/-144,J361/145", "AAA0BBB,J359/120,J8/-143"] {
                let isSummer = hours >= (rule.contains("-144") ? -24 : -48) && hours < 24
                #expect(try offset(rule, newYear + hours * 3600) == (isSummer ? 1 : 0), "\(rule) \(hours)")
            }
        }
        for moment in [-3.15e15, -1e12, 1e12, 3.15e15] {
            #expect([-5, -4].contains(try offset("EST5EDT,M3.2.0,M11.1.0", moment)))
        }
    }

    @Test func truncatedTimeZonesAndMalformedRulesAreErrors() throws {
        let good = CompiledZone(
            changes: [(-100, 1), (0, 0), (1_000_000_000, 1)], offsets: [-1234, 7200],
            rule: "EET-2EEST,M4.5.5/0,M10.5.4/24")
        let bytes = good.bytes
        #expect(throws: Never.self) { try ZoneFile(bytes) }
        for count in 0..<bytes.count {
            #expect(throws: ZoneFile.Damage.self, "\(count) bytes") { try ZoneFile(Array(bytes.prefix(count))) }
        }
        var generator = SeededGenerator(seed: 64)
        for position in bytes.indices {
            for _ in 0..<8 {
                var damaged = bytes
                damaged[position] = .random(in: 0...255, using: &generator)
                guard let file = try? ZoneFile(damaged) else { continue }
                for moment in [-3.15e15, -101, 0, 1_000_000_000, 2e9, 3.15e15] {
                    #expect(file.period(around: moment).contains(moment))
                }
            }
        }
        for rule in [
            "EET", "2", "EET-2EEST", "EET-2EEST,M13.1.0,M1.1.0", "EET25", "EET-2EEST,M4.5.5/0", "<+03-3", "UTC0 ",
        ] {
            #expect(throws: ZoneFile.Damage.self, "\(rule)") {
                try ZoneFile(CompiledZone(offsets: [0], rule: rule).bytes)
            }
        }
        let folder = try write(["Africa/Cairo": CompiledZone(offsets: [0], rule: "?")])
        #expect(throws: UnusableTimeZone.self) { try TimeZoneOffsets("Africa/Cairo", in: folder) }
    }
}
