public import Observation

/// Observation's tracking of results: whatever is read of sections and rows is tracked together. Objects are tracked by
/// themselves.
extension FetchedResultsController: Observable {}

extension FetchedResultsController {
    /// Notes that results are read.
    func noteRead() {
        let observers = self.observers ?? Observers()
        if self.observers == nil { self.observers = observers }
        observers.registrar.access(self, keyPath: \.observedResults)
    }

    /// Tells observers that the results have changed.
    func noteChange() { observers?.registrar.withMutation(of: self, keyPath: \.observedResults) {} }

    // Never read: it only stands for what observers track.
    fileprivate var observedResults: Bool { false }
}
