internal import FetchIndexCLibrary

/// A lock with a condition: threads wait until another thread has changed the data that the lock guards.
final class Monitor: @unchecked Sendable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>

    init() {
        lock = .allocate(capacity: 1)
        changed = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        pthread_cond_destroy(changed)
        lock.deallocate()
        changed.deallocate()
    }

    /// Calls the body with the lock held, and then wakes all waiting threads.
    func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(lock)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(lock)
        }
        return try body()
    }

    /// Releases the lock and waits, usually until another thread's `locked` has ended. Only for the body of `locked`.
    func wait() { pthread_cond_wait(changed, lock) }
}
