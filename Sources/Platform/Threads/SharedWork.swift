/// Calls of a body with the parts 0 to count - 1, which threads take in that order.
///
///     begin -> run -> begin -> run ...    on each thread, until no part is left or one has failed
///     end                                 on the thread that shares the work: when all calls have returned
final class SharedWork: @unchecked Sendable {
    private let monitor = Monitor()
    /// The number of parts. After an error, or once the work ends, the number of parts that have begun.
    private var count: Int
    /// The body; nil once the work has ended, so that threads which begin later don't retain it.
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

    /// Takes the next part, which this thread must run; nil if none is left.
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

    /// Runs a part and returns its error. In a function of its own, so that nothing retains the body once it has
    /// returned.
    private func call(_ part: Int, _ thread: Int) -> (any Error)? {
        let body = monitor.locked { self.body }
        do { try body?(thread, part) } catch { return error }
        return nil
    }

    /// Takes and runs the next part. Returns false if none is left.
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
