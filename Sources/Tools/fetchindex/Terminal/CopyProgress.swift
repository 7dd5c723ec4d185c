internal import FetchIndexTerminal
internal import Synchronization
internal import FetchIndexCLibrary
internal import FetchIndexPlatform

/// Shows the progress of one long call that writes a file, by the size of the file.
enum CopyProgress {
    private static let (pauseInMicroseconds, pausesBetweenLooks): (UInt32, Int) = (5000, 20)

    /// Runs the work, and shows progress until the work ends, or until `isCopied` returns true because the file is
    /// complete and the work goes on with something else.
    static func show<Value>(
        _ title: String, _ path: String, of total: Int, until isCopied: () -> Bool = { false },
        _ work: () throws -> Value
    ) throws -> Value {
        let isDone = Atomic(false)
        var value: Value?
        try Threads.run(2) { thread in
            if thread > 0 {
                return watch(path, ProgressBar(title), total) { isCopied() || isDone.load(ordering: .relaxed) }
            }
            defer { isDone.store(true, ordering: .relaxed) }
            value = try work()
        }
        // The work has ended without an error: `Threads.run` would have thrown it.
        guard let value else { preconditionFailure("the work ends with a value or an error") }
        return value
    }

    private static func watch(_ path: String, _ bar: ProgressBar, _ total: Int, until isDone: () -> Bool) {
        var pauses = 0
        while !isDone() {
            usleep(pauseInMicroseconds)
            pauses += 1
            var status = stat()
            if pauses % pausesBetweenLooks == 0, stat(path, &status) == 0 {
                bar.show(bytes: Int(status.st_size), of: total)
            }
        }
        bar.finish()
    }
}
