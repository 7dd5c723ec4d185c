import FetchIndexInspectionReport
import Foundation
import Testing

/// The colours of the style sheet. https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
@Suite struct ContrastTests {
    private typealias Colour = (red: Double, green: Double, blue: Double)

    /// The colours by name: those of the light scheme, and those of the dark one.
    private static func schemes() -> [[String: Colour]] {
        let blocks = Templates.style.components(separatedBy: ":root {").dropFirst().prefix(2).map { block in
            var colours: [String: Colour] = [:]
            for rule in block.prefix(while: { $0 != "}" }).split(separator: ";") {
                let parts = rule.split(separator: ":").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
                guard parts.count == 2, parts[1].hasPrefix("#") else { continue }
                colours[String(parts[0].dropFirst(2))] = colour(parts[1])
            }
            return colours
        }
        return [blocks[0], blocks[0].merging(blocks[1]) { $1 }]
    }

    /// Reads "#fff" or "#1d2329".
    private static func colour(_ text: String) -> Colour {
        var digits = Array(text.dropFirst())
        if digits.count == 3 { digits = digits.flatMap { [$0, $0] } }
        let number = Int(String(digits), radix: 16) ?? 0
        return (Double(number >> 16 & 255) / 255, Double(number >> 8 & 255) / 255, Double(number & 255) / 255)
    }

    private static func luminance(_ colour: Colour) -> Double {
        func linear(_ part: Double) -> Double { part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4) }
        return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue)
    }

    private static func contrast(_ first: Colour, _ second: Colour) -> Double {
        let (one, other) = (luminance(first), luminance(second))
        return (max(one, other) + 0.05) / (min(one, other) + 0.05)
    }

    @Test(arguments: [0, 1]) func textsAndControlsAreReadableInTheLightAndTheDarkScheme(scheme: Int) throws {
        let colours = Self.schemes()[scheme]
        let texts = [
            "ink", "quiet", "good", "behind", "bad", "inserted", "updated", "deleted", "moved", "p0",
        ]
        for ground in ["card", "ground"] {
            let behind = try #require(colours[ground])
            for name in texts {
                #expect(Self.contrast(try #require(colours[name]), behind) >= 4.5, "\(name) on \(ground)")
            }
            // The borders of fields and buttons.
            #expect(Self.contrast(try #require(colours["edge"]), behind) >= 3, "edge on \(ground)")
        }
        // Changed rows have a background of 30 % of the colour of their change.
        let (ink, card) = (try #require(colours["ink"]), try #require(colours["card"]))
        for name in ["inserted", "updated", "deleted", "moved", "behind"] {
            let mark = try #require(colours[name])
            func mixed(_ mark: Double, _ card: Double) -> Double { mark * 0.3 + card * 0.7 }
            let ground = (mixed(mark.red, card.red), mixed(mark.green, card.green), mixed(mark.blue, card.blue))
            #expect(Self.contrast(ink, ground) >= 4.5, "ink on \(name)")
        }
    }
}
