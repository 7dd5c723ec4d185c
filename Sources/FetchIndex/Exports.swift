// These modules are exported, so that programs need only `import FetchIndex`.
@_exported public import FetchIndexModels
@_exported public import FetchIndexPredicates
@_exported public import FetchIndexValues
// Types of other modules that appear in the public API.
@_exported public import enum FetchIndexOrderCaches.CacheError
@_exported public import enum FetchIndexOrderCaches.OrderOutcome
@_exported public import enum FetchIndexOrderCaches.RebuildReason
@_exported public import enum FetchIndexOrderCaches.SectionEvent
@_exported public import enum FetchIndexOrderCaches.SectionOrder
@_exported public import struct FetchIndexOrderCaches.OrderChange
@_exported public import struct FetchIndexOrderCaches.RowPath
@_exported public import enum FetchIndexRecords.Durability
@_exported public import struct FetchIndexRecords.StoreBackup
@_exported public import struct FetchIndexRecords.StoreCompaction
@_exported public import struct FetchIndexRecords.StoreUpgrade
@_exported public import enum FetchIndexRecords.StoreCopyError
@_exported public import enum FetchIndexRecords.StoreError
