// A store is opened with it. FetchIndex, which doesn't see LMDB, passes it on to users.
@_exported public import enum FetchIndexLMDB.Durability
