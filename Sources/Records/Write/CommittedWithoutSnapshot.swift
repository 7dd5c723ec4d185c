/// The commit succeeded, but no snapshot of it could be opened, for example because all reader slots are taken.
package struct CommittedWithoutSnapshot: Error, CustomStringConvertible {
    package let reason: any Error

    package var description: String { "the changes were saved, but the store cannot be read now: \(reason)" }
}
