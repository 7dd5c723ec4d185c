import Foundation
import FetchIndexTestSupport
import Testing

/// Many processes record their openings of one cache at the same time.
@Suite struct RecordingTests {
    @Test func manyProcessesRecordTheirOpenings() throws {
        let tool = try Tool()
        let rows = try tool.file("a.csv", "k,n\n" + (0..<50).map { "\($0),\($0 % 7)\n" }.joined())
        #expect(try tool.run("import", tool.store, rows, "--entity", "E", "--key", "k").status == 0)
        let fetch = [
            "fetch", tool.store, "--entity", "E", "--section", "n", "--sort", "k", "--cache", "c", "--limit", "1",
        ]
        #expect(try tool.run(fetch).status == 0)
        // Five jobs insert rows and open the order, and two only open it.
        let rounds = 12
        let script = """
            for job in 1 2 3 4 5 6 7; do
                for round in $(seq 1 \(rounds)); do
                    if [ $job -le 5 ]; then
                        printf 'k,n\\n%s,%s\\n' "$job$((round + 10))" "$job" > "$1/$job.csv"
                        "$0" import "$2" "$1/$job.csv" --entity E --key k > "$1/out-$job" 2>&1 || { cat "$1/out-$job"; exit 1; }
                    fi
                    "$0" "${@:3}" > "$1/out-$job" 2>&1 || { cat "$1/out-$job"; exit 1; }
                done & jobs="$jobs $!"
            done
            for job in $jobs; do wait $job || exit 1; done
            """
        let (status, output) = try TemporaryFolder.run(
            "bash", ["-c", script, Tool.executable.path, tool.folder.path, tool.store] + fetch)
        #expect(status == 0, "\(output)")
        let shown = try tool.run("cache", "show", tool.store, "c", "--output", "json")
        let history = try #require(shown["history"] as? [String: Any])
        let openings = try #require(history["openings"] as? [[String: Any]])
        // The list leaves out hits, so it has at most the first build and a catch-up for each import. It may have
        // fewer, because a process doesn't wait for the file of openings.
        #expect((5...5 * rounds + 1).contains(openings.count), "\(openings.count)")
        #expect(openings.allSatisfy { $0["process"] as? String == "fetchindex" })
        let check = try tool.run("check", tool.store)
        #expect(check.status == 0, "\(check.output)\(check.error)")
        #expect(try tool.rows("--entity", "E", "--sort", "k").count == 50 + 5 * rounds)
    }
}
