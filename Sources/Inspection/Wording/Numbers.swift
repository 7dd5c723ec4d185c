/// Formats numbers for people.
package enum Numbers {
    /// Groups digits: 1,234,567
    package static func grouped(_ number: Int) -> String {
        var digits = String(number.magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.append(String(digits.suffix(3)))
            digits.removeLast(3)
        }
        groups.append(digits)
        return (number < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
    }

    /// Puts a number before its noun: 1 defect, 2 defects
    package static func count(_ number: Int, _ noun: String) -> String {
        "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// Formats a size: 12.3 MiB
    package static func bytes(_ count: Int) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var size = Double(count)
        var unit = 0
        while size >= 1024 && unit < units.count - 1 {
            size /= 1024
            unit += 1
        }
        return unit == 0 ? "\(count) B" : "\(rounded(size, places: 1)) \(units[unit])"
    }

    /// Formats a duration: 0.042 ms, 12.3 ms, 4.56 s
    package static func duration(milliseconds: Double) -> String {
        if milliseconds < 1 { return "\(rounded(milliseconds, places: 3)) ms" }
        if milliseconds < 1000 { return "\(rounded(milliseconds, places: 1)) ms" }
        return "\(rounded(milliseconds / 1000, places: 2)) s"
    }

    /// Formats a short duration: 42.0 ns, 4.2 µs, 12.3 ms, 4.56 s
    package static func duration(seconds: Double) -> String {
        if seconds < 1e-6 { return "\(rounded(seconds * 1e9, places: 1)) ns" }
        if seconds < 1e-3 { return "\(rounded(seconds * 1e6, places: 1)) µs" }
        return duration(milliseconds: seconds * 1000)
    }

    /// Formats a span of time in one or two units: 12 s, 3 min 12 s, 5 h 3 min, 2 d 5 h
    package static func span(seconds: Double) -> String {
        let whole = Int(min(max(seconds, 0), 1e15).rounded())
        if whole < 60 { return "\(whole) s" }
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        if whole < 86_400 { return "\(whole / 3600) h \(whole / 60 % 60) min" }
        return "\(grouped(whole / 86_400)) d \(whole / 3600 % 24) h"
    }

    package static func rounded(_ number: Double, places: Int) -> String {
        var scale = 1
        for _ in 0..<places { scale *= 10 }
        // The scaled number is clamped to 9e15, because `Int` would trap for a much greater one.
        let scaled = Int(min(max(number.isNaN ? 0 : number * Double(scale), -9e15), 9e15).rounded())
        let fraction = String(scaled.magnitude % UInt(scale))
        let padding = String(repeating: "0", count: max(0, places - fraction.count))
        return "\(scaled < 0 ? "-" : "")\(scaled.magnitude / UInt(scale)).\(padding)\(fraction)"
    }
}
