extension EntityMigration {
    /// The entity after the migration.
    func makeEntity() -> Entity {
        var entity = Entity(
            given.name, slots: slots, uniqueLists: uniqueLists, indexKeys: indexKeys, relationships: relationships,
            superentity: number == nil ? given.superentity : old.superentity, isAbstract: given.isAbstract,
            isJoin: given.isJoin)
        var declarations = old.declarations
        if declarations.isEmpty && number != nil && !steps.isEmpty { declarations = [old.asDeclared(in: old)] }
        let declared = given.asDeclared(in: entity)
        declarations.removeAll { $0.checksum == declared.checksum }
        declarations.append(declared)
        entity.stored = Entity.Stored(
            declarations: declarations, passes: old.passes + (rewritesRecords ? 1 : 0),
            permanentName: permanentName ?? old.stored.permanentName,
            formerNames: number == nil ? given.renamedFrom.map { [$0] } ?? [] : old.stored.formerNames)
        return entity
    }
}
