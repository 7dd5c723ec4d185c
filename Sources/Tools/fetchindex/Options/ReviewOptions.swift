internal import ArgumentParser
internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexInspection
internal import FetchIndexTerminal

/// The options for previewing a transaction, and for refusing it.
struct ReviewOptions: ParsableArguments {
    @Flag(help: "Print what would change, all in one transaction, and change nothing.") var dryRun = false
    @Flag(help: "In a dry run, print only the numbers of changed rows, by section.") var summary = false
    @Option(
        help: ArgumentHelp(
            "A rule that all changes together must keep; otherwise nothing is changed, and the exit code is 1.",
            discussion: """
                'deleted at most 1,000' (or inserted, updated), 'rows(CACHE) changes by at most 5 %', \
                'sum(KEY) in CACHE grows by at most 10 %' (any aggregate that the cache keeps), \
                'each section of CACHE loses at most 2 %', 'no section of CACHE disappears'.
                """, valueName: "rule"))
    var rule: [String] = []
    @Option(
        help: ArgumentHelp("A JSON file with a list of rules.", valueName: "file"), completion: .file())
    var rules: String?

    func validate() throws {
        if summary && !dryRun { throw ValidationError("--summary is for --dry-run.") }
    }

    var hasRules: Bool { !rule.isEmpty || rules != nil }

    /// Makes the review of changes of an entity; nil if nothing is to be printed or checked.
    func review(
        _ printers: [BatchPrinter] = [], of entity: String, in container: PersistentContainer
    ) throws -> TransactionReview? {
        if !dryRun && !hasRules { return nil }
        let check = try RuleCheck(allRules(), changing: entity, in: container)
        return TransactionReview(check, dryRun ? printers : [], asSummary: summary)
    }

    private func allRules() throws -> [ChangeRule] {
        var texts: [ChangeRule] = []
        if let rules {
            do {
                texts = try ChangeRule.list(inJSON: Data(contentsOf: URL(fileURLWithPath: rules)))
            } catch let error as ChangeRule.Malformed {
                throw ValidationError("\(rules.visible): \(error).")
            } catch is DecodingError {
                throw Failure("\(rules.visible) is not a JSON list of rules, such as [\"deleted at most 1,000\"]")
            } catch {
                throw Failure("\(rules.visible) cannot be read")
            }
        }
        do { texts += try rule.map { try ChangeRule(parsing: $0) } } catch let error as ChangeRule.Malformed {
            throw ValidationError("\(error).")
        }
        return texts
    }
}

/// Prints what a transaction would change, and checks the rules that it must keep.
final class TransactionReview {
    private let check: RuleCheck
    private let printers: [BatchPrinter]
    private let asSummary: Bool
    /// The rules that the transaction breaks, as sentences.
    private var broken: [String] = []

    init(_ check: RuleCheck, _ printers: [BatchPrinter], asSummary: Bool) {
        (self.check, self.printers, self.asSummary) = (check, printers, asSummary)
    }

    /// Prints what a transaction of a dry run would change.
    func preview(_ preview: BatchPreview) throws {
        var orders: [String: OrderPreview] = [:]
        for printer in printers {
            let order = try printer.order(in: preview)
            orders[printer.cacheName] = order
            try printer.print(order, since: preview.commit, asSummary: asSummary)
        }
        broken = try check.broken(by: preview, orders)
    }

    /// Refuses a transaction that breaks a rule.
    func require(_ preview: BatchPreview) throws {
        broken = try check.broken(by: preview)
        try end()
    }

    var isBroken: Bool { !broken.isEmpty }

    /// Throws if the transaction breaks a rule.
    func end() throws {
        for sentence in broken { Output.error(sentence) }
        if !broken.isEmpty {
            throw Failure(
                "\(broken.count == 1 ? "a rule is" : "\(broken.count) rules are") broken; nothing was changed")
        }
    }
}
