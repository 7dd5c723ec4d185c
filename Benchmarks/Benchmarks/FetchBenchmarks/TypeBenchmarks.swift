import Benchmark
import FetchIndex
import Foundation

// Comparisons of types that are not text beside the same comparison of a text, and merges beside many objects.

/// Rows with the same value as a UUID, a decimal, a URL and a text.
private let typedModel = Model(entities: [
    Entity(
        "Typed",
        [
            AttributeDescription("uuid", .uuid), AttributeDescription("decimal", .decimal),
            AttributeDescription("url", .url), AttributeDescription("text", .string),
        ])
])

/// Each benchmark is a process of its own, and makes its rows.
private let typedRows = isBrief ? 50_000 : 200_000

private func uuid(_ row: Int) -> UUID {
    UUID(uuidString: "00000000-0000-4000-8000-" + String(format: "%012x", row * 2_654_435_761 % 0xFFFF_FFFF))!
}

private func typedContainer() throws -> PersistentContainer {
    let container = try PersistentContainer(temporaryWith: typedModel)
    let rows: [[Value]] = (0..<typedRows).map { row in
        let uuid = uuid(row)
        return [
            .uuid(uuid), .decimal(Decimal(row) / 100), .url(URL(string: "https://example.org/\(row)")!),
            .string(uuid.uuidString),
        ]
    }
    try container.newContext().execute(BatchInsertRequest(entityName: "Typed", rows: rows))
    return container
}

/// The ids of the rows that a comparison admits, by a scan: of another type, and of a text.
func typedScans() {
    let middle = uuid(typedRows / 2)
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
            Benchmark("scan \(question) | \(typedRows) | \(side)", configuration: quick(2)) { benchmark in
                for _ in benchmark.scaledIterations {
                    var request = FetchRequest<ManagedObject>(entityName: "Typed")
                    request.predicate = try predicate.get()
                    request.resultType = .objectIDs
                    blackHole(try context!.execute(request))
                }
            } setup: {
                context = try typedContainer().newContext()
            } teardown: {
                context = nil
            }
        }
    }
}

private func textual(_ comparison: String, _ uuid: UUID) -> Result<FetchPredicate, any Error> {
    .init { try FetchPredicate("text \(comparison) %@", uuid.uuidString) }
}

/// One object that another context has changed, merged into a context of many objects; the peer has fifty.
func merges() {
    for (side, count) in [("ours", typedRows), ("50 objects", 50)] {
        nonisolated(unsafe) var context: ManagedObjectContext?
        nonisolated(unsafe) var other: ManagedObjectContext?
        nonisolated(unsafe) var objects: [ManagedObject] = []
        nonisolated(unsafe) var edit = 0
        Benchmark("merge one foreign edit | \(typedRows) | \(side)", configuration: quick(2)) { benchmark in
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
            let container = try typedContainer()
            (context, other) = (container.newContext(), container.newContext())
            var request = FetchRequest<ManagedObject>(entityName: "Typed")
            request.fetchLimit = count
            objects = try context!.fetch(request)
        } teardown: {
            (context, other, objects) = (nil, nil, [])
        }
    }
}
