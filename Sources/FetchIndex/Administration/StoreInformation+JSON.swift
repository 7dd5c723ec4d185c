// The JSON of `fetchindex info`. Every key is present; a missing value is encoded as null.

extension StoreInformation: Encodable {
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "path": path, "format": format, "lmdb": lmdb, "commit": commit, "fileBytes": fileBytes,
            "freeBytes": freeBytes,
            "tables": tables, "entities": entities, "log": log, "bookmarks": bookmarks,
            "timeZones": timeZones, "caches": caches,
            "sources": sources, "readers": readers,
        ])
    }
}

extension Bookmark: Encodable {
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "name": name, "commit": commit, "time": Value.date(time).description, "isReachable": isReachable,
            "pinnedBytes": pinnedBytes,
        ])
    }
}

extension StoreInformation.Relationship: Encodable {
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "name": name, "destination": destination, "inverse": inverse, "isToMany": isToMany,
            "isOptional": isOptional, "isOrdered": isOrdered, "deleteRule": deleteRule, "links": links,
        ])
    }
}

extension StoreInformation.TimeZones: Encodable {
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "version": version, "source": source, "systemVersion": systemVersion, "icuVersion": icuVersion,
        ])
    }
}

extension StoreInformation.Reader: Encodable {
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "process": process, "program": program, "age": age, "seconds": seconds, "isOlder": isOlder,
            "pinnedPages": pinnedPages, "pinnedBytes": pinnedBytes,
        ])
    }
}

extension StoreInformation.Source: Encodable {
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "name": name, "address": address, "slot": slot, "tables": tables, "position": position,
            "isConsistent": isConsistent,
            "committed": committed, "state": state, "isRunning": isRunning, "process": process, "age": age,
            "lagBytes": lagBytes, "lagSeconds": lagSeconds, "silence": silence,
            "greatestLagSeconds": greatestLagSeconds,
            "slotState": slotState, "retainedBytes": retainedBytes, "reason": reason,
        ])
    }
}

extension StoreInformation.Source.Table: Encodable {
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "name": name, "entity": entity, "key": key, "shard": shard, "condition": condition, "isCopied": isCopied,
            "omittedRows": omittedRows,
        ])
    }
}

extension Encoder {
    /// Encodes values under their names; a missing value as null.
    fileprivate func encode(_ values: KeyValuePairs<String, any Encodable>) throws {
        var container = container(keyedBy: Name.self)
        for (name, value) in values { try container.encode(value, forKey: Name(stringValue: name)) }
    }
}

private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { return nil }
}
