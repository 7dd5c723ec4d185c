// Re-exported, so that `import FetchIndex` is enough.
@_exported public import Models
@_exported public import Predicates
@_exported public import Values
