// Re-exported, so that `import FetchIndex` is enough.
@_exported public import FetchIndexModels
@_exported public import FetchIndexPredicates
@_exported public import FetchIndexValues
