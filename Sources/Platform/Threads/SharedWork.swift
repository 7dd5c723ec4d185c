/// Calls a body with the parts 0 to count - 1 on several threads. Threads take the parts in that order.
///
///     begin -> run -> begin -> run ...    on each thread, until no part is left or one has failed
///     end                                 on the thread that shares the work: waits for all calls
final class SharedWork: @unchecked Sendable {
    private let monitor = Monitor()
    /// The number of parts. After an error or after `end`: the number of parts that have begun.
    private var count: Int
    /// The body; nil after `end`, so that a thread that begins later doesn't retain it.
    private var body: ((_ part: Int) throws -> Void)?
    private var begun = 0
    private var ended = 0
    /// The error of the failed part with the least number.
    private var failure: (part: Int, error: any Error)?

    init(_ count: Int, _ body: @escaping (_ part: Int) throws -> Void) {
        self.count = count
        self.body = body
    }

    /// Returns the next part, which the calling thread must run; nil if none is left.
    func begin() -> Int? {
        monitor.locked {
            guard begun < count else { return nil }
            defer { begun += 1 }
            return begun
        }
    }

    func run(_ part: Int) {
        let error = call(part)
        monitor.locked {
            ended += 1
            guard let error else { return }
            count = begun
            if part < failure?.part ?? .max { failure = (part, error) }
        }
    }

    /// Runs a part and returns its error. This is a separate function, so that its reference to the body is released
    /// when it returns.
    private func call(_ part: Int) -> (any Error)? {
        let body = monitor.locked { self.body }
        do { try body?(part) } catch { return error }
        return nil
    }

    /// Takes and runs the next part. Returns false if none is left.
    @discardableResult
    func runNext() -> Bool {
        guard let part = begin() else { return false }
        run(part)
        return true
    }

    /// Waits until all parts that have begun have ended. If parts failed, throws the error of the failed part with the
    /// least number.
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
