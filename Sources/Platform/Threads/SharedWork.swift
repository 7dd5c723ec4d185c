/// Calls of a body with the parts 0 to count - 1, which threads take in that order.
///
///     begin -> run -> begin -> run ...    on each thread, until no part is left or one has failed
///     end                                 on the thread that shares the work: when all calls have returned
final class SharedWork: @unchecked Sendable {
    private let monitor = Monitor()
    /// How many parts there are; those that have begun once no more are to begin.
    private var count: Int
    /// Nil once the work has ended: threads that begin later must not keep it.
    private var body: ((_ thread: Int, _ part: Int) throws -> Void)?
    private var begun = 0
    private var ended = 0
    /// The error of the least part that failed.
    private var failure: (part: Int, error: any Error)?

    init(_ count: Int, _ body: @escaping (_ thread: Int, _ part: Int) throws -> Void) {
        self.count = count
        self.body = body
    }

    var hasParts: Bool { monitor.locked { begun < count } }

    /// Takes the next part, which this thread must run; nil when there is none.
    func begin() -> Int? {
        monitor.locked {
            guard begun < count else { return nil }
            defer { begun += 1 }
            return begun
        }
    }

    func run(_ part: Int, as thread: Int = 0) {
        let error = call(part, thread)
        monitor.locked {
            ended += 1
            guard let error else { return }
            count = begun
            if part < failure?.part ?? .max { failure = (part, error) }
        }
    }

    /// Nothing holds the body any more when it returns.
    private func call(_ part: Int, _ thread: Int) -> (any Error)? {
        let body = monitor.locked { self.body }
        do { try body?(thread, part) } catch { return error }
        return nil
    }

    /// Takes and runs the next part. False when there is none.
    @discardableResult
    func runNext(as thread: Int = 0) -> Bool {
        guard let part = begin() else { return false }
        run(part, as: thread)
        return true
    }

    /// Waits until all parts that began have ended. Throws the error of the least one that failed.
    func end() throws {
        let failure = monitor.locked {
            count = begun
            while ended < begun { monitor.wait() }
            body = nil
            return self.failure
        }
        if let failure { throw failure.error }
    }
}
