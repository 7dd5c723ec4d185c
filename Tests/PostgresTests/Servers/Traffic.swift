import Foundation
import FetchIndexPostgresSource
import Synchronization
import FetchIndexTestSupport

/// Writers that change two tables of a source at random, in transactions of many kinds, until they are stopped. `held`
/// pauses them between transactions, so that the source's state can be compared with a store.
final class Traffic: @unchecked Sendable {
    static let tables = [
        "CREATE TABLE public.books(id integer PRIMARY KEY, title text, publisher text, price numeric, body text)",
        "ALTER TABLE public.books ALTER body SET STORAGE EXTERNAL",
        "CREATE TABLE public.notes(code text PRIMARY KEY, book integer, stamp timestamptz)",
    ]

    private let address: String
    private let seed: UInt64
    private let ended = Atomic(false)
    private let gate = NSCondition()
    private var isHeld = false
    private var open = 0
    private let done = DispatchGroup()
    private let failure = Mutex<(any Error)?>(nil)
    private let committed = Atomic(0)

    /// The codes of the conflicts that a transaction may meet.
    private static let expected = ["40P01", "40001", "23505"]

    init(_ address: String, writers: Int, seed: UInt64) {
        (self.address, self.seed) = (address, seed)
        for writer in 0..<writers {
            done.enter()
            Thread.detachNewThread { [self] in
                defer { done.leave() }
                do { try write(writer) } catch { failure.withLock { $0 = error } }
            }
        }
    }

    var transactions: Int { committed.load(ordering: .relaxed) }

    /// Runs a body while none of the writers has an open transaction.
    func held<Result>(_ body: () throws -> Result) throws -> Result {
        gate.lock()
        isHeld = true
        let end = Date() + 120
        while open > 0, gate.wait(until: end) {}
        let isStuck = open > 0
        gate.unlock()
        if isStuck { throw Stuck() }
        defer {
            gate.lock()
            isHeld = false
            gate.broadcast()
            gate.unlock()
        }
        return try body()
    }

    private func begin() {
        gate.lock()
        while isHeld { gate.wait() }
        open += 1
        gate.unlock()
    }

    private func end() {
        gate.lock()
        open -= 1
        gate.broadcast()
        gate.unlock()
    }

    struct Stuck: Error {}

    /// Tells the writers to end. A test calls this even if it fails, because its writers would slow down later
    /// tests.
    func letEnd() { ended.store(true, ordering: .relaxed) }

    /// Tells the writers to end and waits for that. Throws an error of a writer, if any.
    func stop() throws {
        letEnd()
        guard done.wait(timeout: .now() + 120) == .success else { throw Stuck() }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    private func write(_ writer: Int) throws {
        var random = SeededGenerator(seed: seed &+ UInt64(writer))
        var connection: Connection?
        while !ended.load(ordering: .relaxed) {
            let commands = transaction(&random)
            begin()
            defer { end() }
            do {
                let open = try connection ?? Connection(address)
                connection = open
                // The commands are executed one by one, so that transactions overlap.
                for command in commands { try open.execute(command) }
                committed.add(1, ordering: .relaxed)
            } catch let error as SourceError {
                // The connection was lost, or the transaction met a conflict.
                guard error.kind == .connection || Self.expected.contains(error.code ?? "") else { throw error }
                if error.kind == .connection {
                    connection = nil
                    usleep(100_000)
                } else {
                    _ = try? connection?.execute("ROLLBACK")
                }
            }
        }
    }

    private func transaction(_ random: inout SeededGenerator) -> [String] {
        var commands = ["BEGIN"]
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let isAside = Int.random(in: 0..<8, using: &random) == 0
            if isAside { commands.append("SAVEPOINT a") }
            commands.append(statement(&random))
            if isAside { commands.append(Bool.random(using: &random) ? "ROLLBACK TO a" : "RELEASE a") }
        }
        return commands + [Int.random(in: 0..<8, using: &random) == 0 ? "ROLLBACK" : "COMMIT"]
    }

    private func statement(_ random: inout SeededGenerator) -> String {
        let id = Int.random(in: 0..<200, using: &random)
        let other = Int.random(in: 0..<200, using: &random)
        let text = "'" + ["早川書房", "Tab\t", "It''s", "", "a\\b", "\\N"].randomElement(using: &random)! + "\(other)'"
        let body = Bool.random(using: &random) ? "repeat(md5('\(other)'), 100)" : "'short'"
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<7:
            return "INSERT INTO public.books VALUES (\(id), \(text), 'P\(other % 5)', \(other).\(id), \(body)) "
                + "ON CONFLICT (id) DO UPDATE SET title = excluded.title"
        case 7..<10: return "UPDATE public.books SET title = \(text) WHERE id = \(id)"
        case 10: return "UPDATE public.books SET body = \(body), publisher = NULL WHERE id BETWEEN \(id) AND \(id + 5)"
        case 11, 12: return "UPDATE public.books SET id = \(other + 200) WHERE id = \(id)"
        case 13:
            return
                "UPDATE public.books SET id = \(id) WHERE id = \(other + 200) AND NOT EXISTS (SELECT 1 FROM public.books b WHERE b.id = \(id))"
        case 14, 15: return "DELETE FROM public.books WHERE id = \(id)"
        case 16: return "DELETE FROM public.books WHERE id % 40 = \(id % 40)"
        case 17:
            return
                "INSERT INTO public.notes VALUES (\(text), \(id), '2024-01-01 00:00:00.25+00') ON CONFLICT DO NOTHING"
        case 18: return "UPDATE public.notes SET code = code || 'x' WHERE book = \(id) AND length(code) < 60"
        default:
            return other == 7
                ? "TRUNCATE public.books, public.notes" : "DELETE FROM public.notes WHERE book < \(id / 4)"
        }
    }
}

extension Followed {
    /// Runs a body while writers execute random transactions, of which some may fail.
    func whileWriting(
        _ writers: Int, seed: UInt64, _ transaction: @escaping @Sendable (inout SeededGenerator) -> String,
        _ body: () throws -> Void
    ) throws {
        let isDone = Atomic(false)
        let done = DispatchGroup()
        for writer in 0..<writers {
            done.enter()
            Thread.detachNewThread { [address] in
                defer { done.leave() }
                var generator = SeededGenerator(seed: seed &+ UInt64(writer * 1000))
                guard let connection = try? Connection(address) else { return }
                while !isDone.load(ordering: .relaxed) {
                    if (try? connection.execute(transaction(&generator))) == nil {
                        _ = try? connection.execute("ROLLBACK")
                    }
                }
            }
        }
        defer {
            isDone.store(true, ordering: .relaxed)
            done.wait()
        }
        try body()
    }
}
