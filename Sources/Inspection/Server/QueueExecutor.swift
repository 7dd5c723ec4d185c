internal import Dispatch

/// Runs an actor's jobs on a queue of its own, so that long reads do not occupy the threads that answer other requests. `Threads` can't
/// be used here: it waits for the work, and an executor must not.
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(_ label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
