internal import FetchIndex
internal import FetchIndexInspection
internal import FetchIndexInspectionReport

/// Renders HTML pages and fragments, and computes summaries; each instance does one at a time.
actor Reports {
    private let executor = QueueExecutor("reports")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Returns the live page. If the store is missing or can't be read, the page is an empty frame.
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
