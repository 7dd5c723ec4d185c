/// What was written is committed, and no snapshot of it could be had: all reader slots are taken, say.
package struct CommittedWithoutSnapshot: Error, CustomStringConvertible {
    package let reason: any Error

    package var description: String { "what was written is saved, but cannot be read now: \(reason)" }
}
