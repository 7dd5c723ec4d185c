internal import FetchIndexModels

/// That of an entity whose values cannot be derived.
final class BrokenCompleter: RecordCompleter {
    private let error: any Error

    init(_ error: any Error) { self.error = error }

    func completed(_ record: RawSpan) throws -> [UInt8]? { throw error }

    func slots(derivedFrom slot: Int) -> [Int] { [] }
}
