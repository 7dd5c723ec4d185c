/// A drawing as an SVG element that is stretched to fill its box. It shows no text, because text would be stretched
/// too. Colours and line widths come from the page's style sheet, by class. https://www.w3.org/TR/SVG2/
package struct SVG {
    private let width: Double
    private let height: Double
    /// A description of the drawing for screen readers (`aria-label`).
    private let title: String
    private var shapes = ""

    init(width: Double, height: Double, title: String) {
        (self.width, self.height, self.title) = (width, height, title)
    }

    mutating func rectangle(
        x: Double, y: Double, width: Double, height: Double, style: String, title: String = ""
    ) {
        shapes +=
            "<rect class=\"\(Self.escaped(style))\" x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" "
            + "width=\"\(Self.number(width))\" height=\"\(Self.number(height))\""
        shapes += title.isEmpty ? "/>" : "><title>\(Self.escaped(title))</title></rect>"
    }

    /// Adds a vertical line whose width does not grow with the drawing.
    mutating func line(x: Double, from top: Double, to bottom: Double, style: String, title: String) {
        shapes +=
            "<path class=\"\(Self.escaped(style))\" vector-effect=\"non-scaling-stroke\" "
            + "d=\"M\(Self.number(x)) \(Self.number(top))V\(Self.number(bottom))\">"
            + "<title>\(Self.escaped(title))</title></path>"
    }

    /// Adds a line through points. Its width does not grow with the drawing.
    mutating func polyline(_ points: [(x: Double, y: Double)], style: String) {
        guard points.count > 1 else { return }
        let places = points.map { "\(Self.number($0.x)) \(Self.number($0.y))" }.joined(separator: "L")
        shapes += "<path class=\"\(Self.escaped(style))\" vector-effect=\"non-scaling-stroke\" d=\"M\(places)\"/>"
    }

    /// Adds a dot. It is a line of length zero with round ends, so it stays round when the drawing is stretched.
    mutating func dot(x: Double, y: Double, style: String, title: String) {
        shapes +=
            "<path class=\"\(Self.escaped(style)) dot\" vector-effect=\"non-scaling-stroke\" "
            + "d=\"M\(Self.number(x)) \(Self.number(y))h0\"><title>\(Self.escaped(title))</title></path>"
    }

    var text: String {
        "<svg viewBox=\"0 0 \(Self.number(width)) \(Self.number(height))\" preserveAspectRatio=\"none\" role=\"img\" "
            + "aria-label=\"\(Self.escaped(title))\">\(shapes)</svg>"
    }

    /// Formats a number with at most two decimal places.
    private static func number(_ number: Double) -> String {
        let hundredths = (number * 100).rounded()
        guard abs(hundredths) < 1e15 else { return "0" }
        let whole = Int(hundredths)
        if whole % 100 == 0 { return "\(whole / 100)" }
        let digits = "\(abs(whole) % 100 + 100)".dropFirst()
        return (whole < 0 ? "-" : "") + "\(abs(whole) / 100).\(digits)"
    }

    /// Escapes a text for the content and the attributes of SVG and HTML elements.
    package static func escaped(_ text: String) -> String {
        // Most texts have none of the bytes of characters to escape: "&" and "'", "<" and ">", quotation marks,
        // controls, and U+FFFE and U+FFFF, which begin with EF.
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x26, 0x27, 0x3C, 0x3E, 0x22, 0x00...0x1F, 0xEF: false
            default: true
            }
        }
        if isPlain { return text }
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            // XML forbids these characters, even when they are escaped.
            case "\u{0}"..<"\u{9}", "\u{b}", "\u{c}", "\u{e}"..<"\u{20}", "\u{fffe}", "\u{ffff}": escaped += "\u{fffd}"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
