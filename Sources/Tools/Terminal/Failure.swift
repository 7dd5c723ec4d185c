/// An error that ends the tool with exit code 1. The sentence is empty if the reason was already printed.
package struct Failure: Error {
    package let sentence: String

    package init(_ sentence: String = "") { self.sentence = sentence }

    /// Prints the sentence, if any, and returns the exit code.
    package func print() -> Int32 {
        if !sentence.isEmpty { Output.error(sentence) }
        return 1
    }
}
