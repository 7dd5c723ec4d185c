import FetchIndex

/// People with their badges, teams and notes, with the delete rules `deny` and `noAction`.
enum Club {
    final class Person: ManagedObject {
        @Attribute("name", isUnique: true) var name: String
        @Attribute("email") var email: String?
        @Relationship("buddy", inverse: "fans") var buddy: Person?
        @Relationship("fans", inverse: "buddy", minCount: 0, maxCount: 5000) var fans: Related<Person>
        @Relationship("badge", inverse: "owner") var badge: Badge?
        @Relationship("teams", inverse: "members") var teams: Related<Team>
    }

    final class Badge: ManagedObject {
        @Attribute("number") var number = 0
        @Relationship("owner", inverse: "badge") var owner: Person?
    }

    final class Team: ManagedObject {
        @Attribute("name", isUnique: true) var name: String
        @Relationship("members", inverse: "teams", deleteRule: .deny, minCount: 1) var members: Related<Person>
        @Relationship("notes", inverse: "team", deleteRule: .noAction) var notes: Related<Note>
    }

    final class Note: ManagedObject {
        @Attribute("key", isUnique: true) var key: String
        @Attribute("text") var text: String?
        @Relationship("team", inverse: "notes") var team: Team?
        @Relationship("author", isRequired: true) var author: Person?
    }
}

extension Model {
    static let club = Model(Club.Person.self, Club.Badge.self, Club.Team.self, Club.Note.self)
}

extension ManagedObjectContext {
    func person(_ name: String) -> Club.Person {
        let person = Club.Person(context: self)
        person.name = name
        return person
    }

    func team(_ name: String, _ members: Club.Person...) -> Club.Team {
        let team = Club.Team(context: self)
        team.name = name
        for member in members { team.members.insert(member) }
        return team
    }
}
