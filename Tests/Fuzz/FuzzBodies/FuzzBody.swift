/// The work of a fuzz target on arbitrary bytes. An error is an acceptable answer; a trap, a hang or an answer that
/// contradicts another one is a finding. Each fuzz target runs one body, and the tests run all bodies on the stored
/// corpus.
package enum FuzzBody: String, CaseIterable, Sendable {
    case predicate = "FuzzPredicate"
    case record = "FuzzRecord"
    case node = "FuzzNode"
    case catalogue = "FuzzImport"
    case stream = "FuzzStream"

    /// Runs the body on an input. Traps if the body finds a contradiction.
    package func run(_ input: [UInt8]) {
        switch self {
        case .predicate: PredicateBody.run(input)
        case .record: RecordBody.run(input)
        case .node: NodeBody.run(input)
        case .catalogue: CatalogueBody.run(input)
        case .stream: StreamBody.run(input)
        }
    }
}
