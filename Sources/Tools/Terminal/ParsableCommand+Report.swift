package import ArgumentParser

extension ParsableCommand {
    /// Prints the message of an error that ended the program, with advice. Returns the exit code: 0 if the user asked
    /// for help, 2 for wrong usage, 1 for other errors.
    package static func report(_ error: any Error, advice: String = "") -> Int32 {
        if let failure = error as? Failure { return failure.print() }
        switch exitCode(for: error) {
        case .success:
            Output.write(fullMessage(for: error) + "\n")
            do { try Output.flush() } catch { return report(error) }
            return 0
        case .validationFailure:
            Output.errorLines("fetchindex: " + message(for: error))
            return 2
        default:
            Output.error("\(error)\(advice)")
            return 1
        }
    }
}
