internal import ArgumentParser
internal import FetchIndexEssentials
internal import FetchIndexInspection
internal import FetchIndexInspectionReport
internal import FetchIndexTerminal

/// Renders a change, which `fetchindex` passes as JSON through standard input.
struct ChangesCommand: ParsableCommand {
    enum Format: String, ExpressibleByArgument { case html, markdown }

    static let configuration = CommandConfiguration(commandName: "changes", abstract: "Render the report of a change.")

    @Option var output: Format

    func run() throws {
        var bytes: [UInt8] = []
        while let line = readLine(strippingNewline: false) { bytes += line.utf8 }
        let document = try JSONDecoder().decode(ChangeDocument.self, from: Data(bytes))
        Output.write(try output == .html ? ChangePage.html(document) : ChangePage.markdown(document))
        try Output.flush()
    }
}
