// Re-exported, so that `import FetchIndex` is enough.
@_exported public import FetchIndexModels
@_exported public import FetchIndexPredicates
@_exported public import FetchIndexValues
// Types of other rooms that users name.
@_exported public import enum FetchIndexOrderCaches.RebuildReason
@_exported public import struct FetchIndexOrderCaches.RowPath
@_exported public import enum FetchIndexRecords.StoreCopyError
@_exported public import enum FetchIndexRecords.StoreError
