import Foundation
import Testing

/// `info --output prometheus`.
@Suite struct MetricsTests {
    @Test func metricsFollowTheTextFormat() throws {
        let tool = try Tool()
        let file = try tool.file("rows.csv", "id,section\n1,a\n2,b\n3,b\n")
        _ = try tool.run("import", tool.store, file, "--entity", "Row", "--key", "id")
        let name = "by \"section\"\\"
        for _ in 0..<2 { _ = try tool.run("fetch", tool.store, "--section", "section", "--cache", name) }
        let before = Date().timeIntervalSince1970
        let delta = try tool.file("delta.jsonl", "{\"op\":\"delete\",\"key\":3}\n")
        _ = try tool.run("apply", tool.store, delta)
        let result = try tool.run("info", tool.store, "--output", "prometheus")
        #expect(result.status == 0, "\(result.error)")
        let lines = result.output.split(separator: "\n").map(String.init)
        // Each sample follows the HELP and TYPE of its metric.
        var metric = ""
        for line in lines {
            if line.hasPrefix("# HELP ") {
                metric = String(line.split(separator: " ")[2])
            } else if line.hasPrefix("# TYPE ") {
                let words = line.split(separator: " ")
                #expect(words[2] == metric && ["gauge", "counter"].contains(words[3]), "\(line)")
            } else {
                #expect(line.hasPrefix(metric + " ") || line.hasPrefix(metric + "{"), "\(line)")
                #expect(Double(line.split(separator: " ").last ?? "") != nil, "\(line)")
            }
        }
        let path = try tool.run("info", tool.store, "--output", "json")["path"] as? String ?? ""
        let store = "store=\"\(path)\""
        let label = "cache=\"by \\\"section\\\"\\\\\""
        for line in [
            "fetchindex_objects{\(store),entity=\"Row\"} 2",
            "fetchindex_cache_state{\(store),\(label),state=\"fresh\"} 0",
            "fetchindex_cache_state{\(store),\(label),state=\"behind\"} 1",
            "fetchindex_cache_state{\(store),\(label),state=\"unusable\"} 0",
            "fetchindex_cache_changes_behind{\(store),\(label)} 1", "fetchindex_cache_rows{\(store),\(label)} 3",
            "fetchindex_cache_sections{\(store),\(label)} 2", "fetchindex_cache_hits_total{\(store),\(label)} 1",
            "fetchindex_cache_builds_total{\(store),\(label)} 1",
        ] { #expect(lines.contains(line), "\(line) in \(result.output)") }
        let time = try #require(lines.first { $0.hasPrefix("fetchindex_commit_timestamp_seconds{") })
        let seconds = try #require(Double(time.split(separator: " ").last ?? ""))
        #expect(seconds >= before - 1 && seconds <= Date().timeIntervalSince1970 + 1)
    }

    @Test func thePageListsEachMetric() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        func names(in path: String) throws -> Set<Substring> {
            let text = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
            return Set(text.matches(of: /fetchindex_[a-z_]+/).map { $0.output })
        }
        let metrics = try names(in: "Sources/Tools/fetchindex/Reports/StoreMetrics.swift")
        #expect(metrics.count > 25)
        #expect(try names(in: "Sources/FetchIndex/FetchIndex.docc/Using/Metrics.md") == metrics)
    }
}
