internal import SystemBasics

/// Shows how far a file has grown while work in one long call writes it.
enum CopyProgress {
    private static let interval = Duration.milliseconds(100)

    static func show<Value: Sendable>(
        _ title: String, _ path: String, of total: Int, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let watch = Task.detached {
            let bar = ProgressBar(title)
            while (try? await Task.sleep(for: interval)) != nil {
                var status = stat()
                if stat(path, &status) == 0 { bar.show(bytes: Int(status.st_size), of: total) }
            }
            bar.finish()
        }
        let result = await Task.detached(operation: work).result
        watch.cancel()
        await watch.value
        return try result.get()
    }
}
