import Benchmark
import FetchIndex
import Foundation
import Stores

// Comparisons of UUIDs, decimals and URLs, measured against comparisons of texts by the same operators; and merges into
// contexts with many objects.

/// Fetches the ids of the rows that match a comparison, by a scan. Another scan compares a text.
func typedScans(_ store: TypedStore) {
    let middle = TypedStore.uuid(store.rows / 2)
    let questions: [(String, Result<FetchPredicate, any Error>, Result<FetchPredicate, any Error>)] = [
        ("uuid ==", .init { try FetchPredicate("uuid == %@", middle) }, textual("==", middle)),
        ("uuid <", .init { try FetchPredicate("uuid < %@", middle) }, textual("<", middle)),
        ("decimal <", .init { try FetchPredicate("decimal < %@", Decimal(1000)) }, textual("<", middle)),
        (
            "url ==", .init { try FetchPredicate("url == %@", URL(string: "https://example.org/7")!) },
            textual("==", middle)
        ),
    ]
    for (question, ours, text) in questions {
        for (side, predicate) in [("ours", ours), ("a text", text)] {
            nonisolated(unsafe) var context: ManagedObjectContext?
            Benchmark("scan \(question) | \(store.rows) | \(side)", configuration: quick(2)) { benchmark in
                for _ in benchmark.scaledIterations {
                    var request = FetchRequest<ManagedObject>(entityName: "Typed")
                    request.predicate = try predicate.get()
                    request.resultType = .objectIDs
                    blackHole(try context!.execute(request))
                }
            } setup: {
                context = try store.container().newContext()
            } teardown: {
                context = nil
            }
        }
    }
}

private func textual(_ comparison: String, _ uuid: UUID) -> Result<FetchPredicate, any Error> {
    .init { try FetchPredicate("text \(comparison) %@", uuid.uuidString) }
}

/// Merges a change of one object, made in another context, into a context with all objects of the store; for
/// comparison, merges it into a context with 50 objects.
func merges(_ store: TypedStore) {
    for (side, count) in [("ours", store.rows), ("50 objects", 50)] {
        nonisolated(unsafe) var context: ManagedObjectContext?
        nonisolated(unsafe) var other: ManagedObjectContext?
        nonisolated(unsafe) var objects: [ManagedObject] = []
        nonisolated(unsafe) var edit = 0
        nonisolated(unsafe) var scratch: URL?
        Benchmark("merge one foreign edit | \(store.rows) | \(side)", configuration: quick(2)) { benchmark in
            for _ in benchmark.scaledIterations {
                edit += 1
                let object = try other!.existingObject(with: objects[edit % 50].objectID)
                object["decimal"] = .decimal(Decimal(edit))
                try other!.save()
                benchmark.startMeasurement()
                try context!.mergeChanges()
                benchmark.stopMeasurement()
            }
        } setup: {
            scratch = try Stores.scratch()
            let container = try store.copy(in: scratch!)
            (context, other) = (container.newContext(), container.newContext())
            var request = FetchRequest<ManagedObject>(entityName: "Typed")
            request.fetchLimit = count
            objects = try context!.fetch(request)
        } teardown: {
            (context, other, objects) = (nil, nil, [])
            try FileManager.default.removeItem(at: scratch!)
        }
    }
}
