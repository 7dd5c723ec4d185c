internal import Foundation

/// A program that runs beside the tests. Of their descriptors, it should inherit at most standard error. It blocks no
/// signals. A `Process` of Foundation could inherit the pipes of tests that run at the same moment. A test that reads
/// such a pipe to its end would then wait until the program ends.
package final class Child {
    package struct NotStarted: Error { package let program: String }

    private let process: pid_t
    private var status: Int32?

    /// Starts the program. Its standard output goes to the file `output`, and its standard error to the file `errors`,
    /// if given.
    package init(_ program: String, _ arguments: [String], output: String = "/dev/null", errors: String? = nil) throws {
        #if canImport(Glibc)
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #else
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        if let errors { posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        #if canImport(Glibc)
            // Closes the descriptors below 65,536, or below a lower limit: a run of all tests has hundreds of them.
            let count = min(sysconf(Int32(_SC_OPEN_MAX)), 1 << 16)
            for file in 3..<Int32(count) { posix_spawn_file_actions_addclose(&actions, file) }
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        #else
            posix_spawn_file_actions_addinherit_np(&actions, 2)
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT))
        #endif
        var pointers: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        var process: pid_t = 0
        guard posix_spawn(&process, program, &actions, &attributes, pointers, environ) == 0 else {
            throw NotStarted(program: program)
        }
        self.process = process
    }

    deinit {
        killAtOnce()
        _ = wait()
    }

    package var isRunning: Bool {
        if status == nil {
            var new: Int32 = 0
            if waitpid(process, &new, WNOHANG) == process { status = new }
        }
        return status == nil
    }

    package func interrupt() { send(SIGINT) }

    /// Sends SIGKILL, which a program cannot prevent.
    package func killAtOnce() { send(SIGKILL) }

    /// Sends a signal if the program is running. The process number of an ended program may belong to another program.
    package func send(_ signal: Int32) { if isRunning { kill(process, signal) } }

    /// The exit code; nil if a signal ended the program. A program that does not end in time is killed.
    package func wait(seconds: Double = 120) -> Int32? {
        let end = Date() + seconds
        while isRunning, Date() < end { usleep(2000) }
        if status == nil {
            FileHandle.standardError.write(
                Data("process \(process) has not ended in \(seconds) s and is killed\n".utf8))
            kill(process, SIGKILL)
            var new: Int32 = 0
            while waitpid(process, &new, 0) < 0 && errno == EINTR {}
            status = new
        }
        // This computes WIFEXITED and WEXITSTATUS.
        return status.flatMap { $0 & 0x7F == 0 ? $0 >> 8 & 0xFF : nil }
    }
}
