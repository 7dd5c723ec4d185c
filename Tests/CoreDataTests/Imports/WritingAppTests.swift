import CFetchIndexSQLite
import FetchIndex
import FetchIndexCoreDataFiles
import FetchIndexModels
import FetchIndexTestSupport
import Foundation
import Synchronization
import Testing

/// A store that an app writes while it's imported.
@Suite struct WritingAppTests {
    /// The app moves amounts between two objects in each transaction, and pages from its log into the database after a
    /// few. A copy of old pages beside new ones would have another sum.
    @Test func eachImportReadsOneState() throws {
        let store = try ChangedStore()
        try store.run(
            """
            PRAGMA journal_mode = WAL;
            WITH RECURSIVE n(k) AS (SELECT 1000 UNION ALL SELECT k + 1 FROM n WHERE k < 3999)
            INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZSTATE) SELECT k, 7, 1, hex(zeroblob(800)), 100 FROM n;
            """)
        let sum = try store.integers("SELECT sum(ZSTATE) FROM ZTHING WHERE Z_ENT IN (7, 8)")[0]
        let app = App(store)
        app.start()
        for _ in 0..<6 {
            let found = imported(store)
            #expect(found == nil || found == sum)
        }
        app.stop()
        #expect(imported(store) == sum)
    }

    /// A thread that writes until it's stopped.
    private final class App: Sendable {
        private let store: ChangedStore
        private let isStopping = Mutex(false)
        private let ended = DispatchSemaphore(value: 0)

        init(_ store: ChangedStore) { self.store = store }

        func start() {
            Thread.detachNewThread { [self] in
                // An app keeps its store open; the last one that closes a database removes the log.
                var handle: OpaquePointer?
                sqlite3_open(store.url.path, &handle)
                sqlite3_exec(handle, "PRAGMA wal_autocheckpoint = 20", nil, nil, nil)
                while !isStopping.withLock({ $0 }) {
                    let (one, other) = (Int.random(in: 1000...3999), Int.random(in: 1000...3999))
                    let change = """
                        BEGIN; UPDATE ZTHING SET ZSTATE = ZSTATE - 1 WHERE Z_PK = \(one);
                        UPDATE ZTHING SET ZSTATE = ZSTATE + 1 WHERE Z_PK = \(other); COMMIT;
                        """
                    sqlite3_exec(handle, change, nil, nil, nil)
                    usleep(2000)
                }
                sqlite3_close(handle)
                ended.signal()
            }
        }

        func stop() {
            isStopping.withLock { $0 = true }
            ended.wait()
        }
    }

    /// The sum after an import; nil if the app wrote all the time, so that it was refused.
    private func imported(_ store: ChangedStore) -> Int64? {
        guard let container = try? PersistentContainer(temporaryWith: Model(entities: [])),
            (try? container.importCoreDataStore(at: store.url)) != nil,
            let items = try? container.newContext(isolation: nil).fetch(FetchRequest<ManagedObject>(entityName: "Item"))
        else { return nil }
        return items.reduce(0) { sum, item in if case .integer(let number) = item["state"] { sum + number } else { sum }
        }
    }
}
