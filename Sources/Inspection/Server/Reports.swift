internal import FetchIndex
internal import FetchIndexInspection

/// Makes the pieces of HTML, one after the other.
actor Reports {
    private let executor = QueueExecutor("reports")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Also where there is no store: then the page's program says so.
    func page(of container: PersistentContainer?) throws -> String {
        let report = container.flatMap { try? InspectionReport(of: $0) }
        return try report?.livePage() ?? InspectionReport.livePageWithoutStore()
    }

    func store(of container: PersistentContainer) throws -> String { try InspectionReport(of: container).storeHTML() }

    func card(of cache: String, in container: PersistentContainer) throws -> String {
        try InspectionReport(of: container).cardHTML(ofCache: cache)
    }

    func summaries(of container: PersistentContainer) throws -> [CacheSummary] { try CacheSummary.all(of: container) }
}
