import FetchIndexPlatform
import FetchIndexTestSupport
import Testing

@testable import FetchIndexCountedTree

/// Returns a number up to 9 or up to the greatest one, so that summaries have different lengths; 0 for a tree without
/// summaries.
func randomNumber(for tree: CountedTree, _ generator: inout SeededGenerator) -> UInt32 {
    if tree.summarizer == nil { return 0 }
    return UInt32.random(in: 0...(Bool.random(using: &generator) ? 9 : .max), using: &generator)
}

func summary(of number: UInt32, for tree: CountedTree) -> [UInt8] {
    tree.summarizer == nil ? [] : Numbers.summary(of: [number])
}

/// Applies random edits in one call of `apply`, and compares the ranks that `apply` returns for each edit with the
/// ranks in the array before and after the edits.
func applyBatch(
    _ tree: inout CountedTree, _ model: inout SortedArray, _ generator: inout SeededGenerator, _ context: Comment,
    counts: [Int] = [1, 5, 50, 300]
) throws {
    let isWeighted = tree.root.isWeighted
    var changes: [[UInt8]: TreeEdit.Change] = [:]
    let isRemoval = Bool.random(using: &generator)
    for _ in 0..<counts.randomElement(using: &generator)! {
        let key =
            Bool.random(using: &generator) || model.keys.isEmpty
            ? randomKey(using: &generator) : model.keys.randomElement(using: &generator) ?? []
        let weight = isWeighted ? Int.random(in: 0...9, using: &generator) : 1
        let kinds: [TreeEdit.Change] =
            [.find, .insert(weight: weight), isRemoval ? .remove : .insert(weight: weight)]
            + (isWeighted || tree.summarizer != nil ? [.update(weight: weight)] : [])
        changes[key] = kinds.randomElement(using: &generator)
    }
    let sorted = changes.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let numbers = sorted.map { _ in randomNumber(for: tree, &generator) }
    let edits = zip(sorted, numbers).map { TreeEdit($0.key, $0.value, summary: summary(of: $1, for: tree)) }
    let old = edits.map { model.rank(of: $0.key) }
    for (edit, number) in zip(edits, numbers) {
        switch edit.change {
        case .insert(let weight): _ = model.insert(edit.key, weight: weight, number: number)
        case .remove: _ = model.remove(edit.key)
        case .update(let weight):
            let (rank, isPresent) = model.rank(of: edit.key)
            if isPresent { (model.weights[rank], model.numbers[rank]) = (weight, number) }
        case .find: break
        }
    }
    let outcomes = try tree.apply(edits)
    let expected = zip(edits, old).map { edit, old in
        EditOutcome(oldRank: old.rank, newRank: model.rank(of: edit.key).rank, wasPresent: old.isPresent)
    }
    #expect(outcomes == expected, context)
    #expect(tree.check() == [], context)
}
