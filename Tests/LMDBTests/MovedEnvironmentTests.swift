import FetchIndexPlatform
@testable import FetchIndexLMDB
import Synchronization
import Foundation
import FetchIndexTestSupport
import Testing

#if os(Linux)
    /// Files are moved, deleted or replaced while this process has them open. The process keeps its locks on the open
    /// files, and opens no second environment that shares a file with the open one.
    @Suite struct MovedEnvironmentTests {
        let folder = TemporaryFolder()
        let other = TemporaryFolder()
        let files = FileManager.default

        private func make(_ folder: TemporaryFolder, entries: UInt8) throws -> Environment {
            let environment = try Environment.open(at: folder.path)
            let table = try environment.tables([TableDescription("bytes")], creating: true)[0]
            let transaction = try environment.beginWrite()
            for number in 0..<entries {
                let key = [number]
                try transaction.view.put(key.span.bytes, for: key.span.bytes, in: table)
            }
            try transaction.commit()
            return environment
        }

        private func count(_ environment: Environment) throws -> Int {
            let table = try environment.tables([TableDescription("bytes")], creating: false)[0]
            let reader = try environment.beginRead()
            return try reader.view.statistics(of: table).entries
        }

        /// The number of this process's locks on a file, from /proc/locks.
        private func lockCount(_ path: String) throws -> Int {
            var status = stat()
            try #require(stat(path, &status) == 0)
            let locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
            return locks.split(separator: "\n").filter { line in
                let words = line.split(separator: " ")
                return words.contains { $0.hasSuffix(":\(status.st_ino)") } && words.contains("\(getpid())")
            }.count
        }

        /// Expects that the environment can be read, keeps its lock and its readers, and can't be written, and that its
        /// path can't be opened or compacted.
        private func expectSafe(_ environment: Environment, _ entries: Int, lockFile: String) throws {
            let reader = try environment.beginRead()
            for path in [folder.path, environment.path] where files.fileExists(atPath: path) {
                #expect(throws: EnvironmentMoved.self) { try Environment.open(at: path) }
                #expect(throws: Environment.InUse.self) { try Environment.compact(at: path) }
            }
            #expect(try lockCount(lockFile) > 0)
            #expect(try environment.readers().contains { $0.transaction == reader.identifier })
            #expect(throws: EnvironmentMoved.self) { try environment.requireInPlace() }
            #expect(throws: EnvironmentMoved.self) { _ = try environment.beginWrite().view }
            #expect(try count(environment) == entries)
        }

        @Test func aFolderThatWasRenamedWhileOpenIsRefusedUnderItsNewName() throws {
            let environment = try make(folder, entries: 3)
            let renamed = folder.path + "-renamed"
            defer { try? files.removeItem(atPath: renamed) }
            try files.moveItem(atPath: folder.path, toPath: renamed)
            #expect(throws: EnvironmentMoved.self) { try Environment.open(at: renamed) }
            #expect(throws: Environment.InUse.self) { try Environment.compact(at: renamed) }
            // Another environment may be created under the old name.
            let second = try make(folder, entries: 5)
            #expect(second !== environment)
            #expect(try count(second) == 5)
            #expect(try count(environment) == 3)
            #expect(try lockCount(renamed + "/lock.mdb") > 0)
            #expect(try lockCount(folder.path + "/lock.mdb") > 0)
            try files.removeItem(atPath: folder.path)
            try files.moveItem(atPath: renamed, toPath: folder.path)
            #expect(try Environment.open(at: folder.path) === environment)
            #expect(try count(environment) == 3)
        }

        @Test func aReplacedDataFileIsNotOpenedWhileTheOldOneIsOpen() throws {
            let environment = try make(folder, entries: 3)
            var replacement: Environment? = try make(other, entries: 7)
            #expect(replacement != nil)
            replacement = nil
            let path = folder.path + "/data.mdb"
            try files.removeItem(atPath: path)
            try expectSafe(environment, 3, lockFile: folder.path + "/lock.mdb")
            try files.moveItem(atPath: other.path + "/data.mdb", toPath: path)
            try expectSafe(environment, 3, lockFile: folder.path + "/lock.mdb")
        }

        /// Once a folder hasn't changed for some seconds, `requireInPlace` remembers its state, and examines the files
        /// again only after a change of the folder. It must still notice moves.
        @Test func movesOfFilesInALongUnchangedFolderAreNoticed() throws {
            let environment = try make(folder, entries: 3)
            let renamed = folder.path + "-renamed"
            defer { try? files.removeItem(atPath: renamed) }
            let data = folder.path + "/data.mdb"
            let lock = folder.path + "/lock.mdb"
            func expectNoticed(_ moves: [(from: String, to: String)]) throws {
                for move in moves { try #require(rename(move.from, move.to) == 0) }
                #expect(throws: EnvironmentMoved.self) { try environment.requireInPlace() }
                #expect(throws: EnvironmentMoved.self) { _ = try environment.beginWrite().view }
                for move in moves.reversed() { try #require(rename(move.to, move.from) == 0) }
                try environment.requireInPlace()
            }
            func waitUntilSettled() throws {
                try wait { FolderState(ofPath: folder.path)?.isSettled == true }
                try environment.requireInPlace()
                #expect(environment.folderInPlace.withLock { $0 } == FolderState(ofPath: folder.path))
            }
            // Two changes in quick succession may have the same time, so the state after the first one must not be
            // remembered.
            for number in 0..<30 {
                #expect(files.createFile(atPath: folder.path + "/\(number)", contents: nil))
                try environment.requireInPlace()
                let remembered = environment.folderInPlace.withLock { $0 }
                let state = FolderState(ofPath: folder.path)
                #expect(remembered != state || state?.isSettled == true)
                try expectNoticed([(data, data + ".old")])
            }
            try waitUntilSettled()
            try expectNoticed([(data, data + ".old")])
            try waitUntilSettled()
            try expectNoticed([(lock, lock + ".old")])
            try waitUntilSettled()
            try expectNoticed([(folder.path, renamed)])
            try waitUntilSettled()
            _ = try make(other, entries: 7)
            try expectNoticed([(folder.path, renamed), (other.path, folder.path)])
        }

        @Test func aReplacedDataFileIsOpenedAfterTheOldOneIsClosed() throws {
            var environment: Environment? = try make(folder, entries: 3)
            _ = try make(other, entries: 7)
            #expect(rename(other.path + "/data.mdb", folder.path + "/data.mdb") == 0)
            #expect(throws: EnvironmentMoved.self) { try Environment.open(at: folder.path) }
            #expect(try environment.map(count) == 3)
            environment = nil
            #expect(try count(Environment.open(at: folder.path)) == 7)
        }

        /// If this process went on writing, another process could create a new lock file, and write at the same time.
        @Test func deletingOrReplacingTheLockFileStopsWrites() throws {
            let environment = try make(folder, entries: 3)
            let lockFile = folder.path + "/lock.mdb"
            try files.moveItem(atPath: lockFile, toPath: lockFile + ".old")
            try expectSafe(environment, 3, lockFile: lockFile + ".old")
            #expect(access(lockFile, F_OK) != 0)
            // Another process copies the file, since this process would lose its locks on the file when it closes it.
            #expect(try TemporaryFolder.run("cp", [lockFile + ".old", lockFile]).status == 0)
            try expectSafe(environment, 3, lockFile: lockFile + ".old")
            #expect(rename(lockFile + ".old", lockFile) == 0)
            try environment.beginWrite().commit()
            #expect(try Environment.open(at: folder.path) === environment)
        }

        @Test func aFolderMountedUnderTwoNamesIsOpenedOnce() throws {
            let environment = try make(folder, entries: 3)
            try files.createDirectory(atPath: other.path, withIntermediateDirectories: true)
            guard geteuid() == 0, try TemporaryFolder.run("mount", ["--bind", folder.path, other.path]).status == 0
            else {
                print("skipped: this user may not mount a folder under a second name")
                return
            }
            defer { _ = try? TemporaryFolder.run("umount", ["-l", other.path]) }
            #expect(try Environment.open(at: other.path) === environment)
            #expect(throws: Environment.InUse.self) { try Environment.compact(at: other.path) }
        }

        /// One thread waits to open a folder, because another process holds its lock. Meanwhile this thread opens
        /// another folder.
        @Test func aBlockedOpeningDoesNotDelayOpeningsOfOtherFolders() throws {
            _ = try make(folder, entries: 1)
            // The other process holds the lock that a compaction would hold.
            let holder = Process()
            holder.executableURL = URL(fileURLWithPath: "/usr/bin/perl")
            holder.arguments = [
                "-e",
                """
                use Fcntl; open(F, '+<', $ARGV[0]); my $lock = pack('s s x4 q q i x4', F_WRLCK, 0, 0, 1, 0);
                fcntl(F, F_SETLK, $lock) or die; print "held"; close(STDOUT); sleep 60
                """, folder.path + "/lock.mdb",
            ]
            let pipe = Pipe()
            holder.standardOutput = pipe
            try holder.run()
            try #require(String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self) == "held")
            let path = folder.path
            let waiting = Thread { _ = try? Environment.open(at: path) }
            waiting.start()
            try wait { try lockWaiters(folder.path + "/lock.mdb") > 0 }
            #expect(try count(make(other, entries: 2)) == 2)
            #expect(try lockWaiters(folder.path + "/lock.mdb") == 1)
            kill(holder.processIdentifier, SIGKILL)
            holder.waitUntilExit()
            try wait { waiting.isFinished }
        }

        private func wait(until isSo: () throws -> Bool) throws {
            let end = Date().addingTimeInterval(30)
            while try !isSo() {
                try #require(Date() < end)
                usleep(1000)
            }
        }

        private func lockWaiters(_ path: String) throws -> Int {
            var status = stat()
            try #require(stat(path, &status) == 0)
            let locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
            return locks.split(separator: "\n").filter { $0.contains("->") && $0.contains(":\(status.st_ino) ") }.count
        }
    }
#endif
