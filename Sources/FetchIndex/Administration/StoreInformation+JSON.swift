// The JSON of `fetchindex info`. A missing value is null, so that every key is present.

extension StoreInformation.Relationship: Encodable {
    private enum Key: CodingKey {
        case name, destination, inverse, isToMany, isOptional, isOrdered, deleteRule, links
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(name, forKey: .name)
        try values.encode(destination, forKey: .destination)
        try values.encode(inverse, forKey: .inverse)
        try values.encode(isToMany, forKey: .isToMany)
        try values.encode(isOptional, forKey: .isOptional)
        try values.encode(isOrdered, forKey: .isOrdered)
        try values.encode(deleteRule, forKey: .deleteRule)
        try values.encode(links, forKey: .links)
    }
}

extension StoreInformation.TimeZones: Encodable {
    private enum Key: CodingKey {
        case version, source, systemVersion, icuVersion
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(version, forKey: .version)
        try values.encode(source, forKey: .source)
        try values.encode(systemVersion, forKey: .systemVersion)
        try values.encode(icuVersion, forKey: .icuVersion)
    }
}

extension StoreInformation.Reader: Encodable {
    private enum Key: CodingKey {
        case process, program, age, seconds, isOlder, pinnedPages, pinnedBytes
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(process, forKey: .process)
        try values.encode(program, forKey: .program)
        try values.encode(age, forKey: .age)
        try values.encode(seconds, forKey: .seconds)
        try values.encode(isOlder, forKey: .isOlder)
        try values.encode(pinnedPages, forKey: .pinnedPages)
        try values.encode(pinnedBytes, forKey: .pinnedBytes)
    }
}

extension StoreInformation.Source.Table: Encodable {
    private enum Key: CodingKey {
        case name, entity, key, condition, isCopied
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(name, forKey: .name)
        try values.encode(entity, forKey: .entity)
        try values.encode(key, forKey: .key)
        try values.encode(condition, forKey: .condition)
        try values.encode(isCopied, forKey: .isCopied)
    }
}

extension StoreInformation.Source: Encodable {
    private enum Key: CodingKey {
        case address, slot, tables, position, isConsistent, committed, state, isRunning, process, age, lagBytes,
            lagSeconds, slotState, retainedBytes, reason
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(address, forKey: .address)
        try values.encode(slot, forKey: .slot)
        try values.encode(tables, forKey: .tables)
        try values.encode(position, forKey: .position)
        try values.encode(isConsistent, forKey: .isConsistent)
        try values.encode(committed, forKey: .committed)
        try values.encode(state, forKey: .state)
        try values.encode(isRunning, forKey: .isRunning)
        try values.encode(process, forKey: .process)
        try values.encode(age, forKey: .age)
        try values.encode(lagBytes, forKey: .lagBytes)
        try values.encode(lagSeconds, forKey: .lagSeconds)
        try values.encode(slotState, forKey: .slotState)
        try values.encode(retainedBytes, forKey: .retainedBytes)
        try values.encode(reason, forKey: .reason)
    }
}

extension StoreInformation: Encodable {
    private enum Key: CodingKey {
        case path, format, commit, fileBytes, freeBytes, tables, entities, log, timeZones, caches, source, readers
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(path, forKey: .path)
        try values.encode(format, forKey: .format)
        try values.encode(commit, forKey: .commit)
        try values.encode(fileBytes, forKey: .fileBytes)
        try values.encode(freeBytes, forKey: .freeBytes)
        try values.encode(tables, forKey: .tables)
        try values.encode(entities, forKey: .entities)
        try values.encode(log, forKey: .log)
        try values.encode(timeZones, forKey: .timeZones)
        try values.encode(caches, forKey: .caches)
        try values.encode(source, forKey: .source)
        try values.encode(readers, forKey: .readers)
    }
}
