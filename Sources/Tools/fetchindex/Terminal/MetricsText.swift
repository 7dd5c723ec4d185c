/// A text in Prometheus's exposition format, as the textfile collector of node_exporter reads it.
/// https://prometheus.io/docs/instrumenting/exposition_formats/
struct MetricsText {
    enum Kind: String {
        case gauge
        case counter
    }

    private(set) var text = ""
    /// The labels of all samples.
    private let common: [(String, String)]

    init(labels: [(String, String)]) { common = labels }

    /// Appends a metric with its samples; nothing if it has none.
    mutating func append(
        _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: [(String, String)], value: Double)]
    ) {
        if samples.isEmpty { return }
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            let labels = (common + sample.labels).map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
            text += "\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(Self.number(sample.value))\n"
        }
    }

    /// Appends a metric with one sample without labels; nothing if its value is nil.
    mutating func append(_ name: String, _ kind: Kind, _ help: String, _ value: Double?) {
        append(name, kind, help, value.map { [([], $0)] } ?? [])
    }

    private static func number(_ value: Double) -> String {
        if value.rounded() == value && abs(value) < 1e15 { return "\(Int(value))" }
        return "\(value)"
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
