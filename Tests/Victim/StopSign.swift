internal import Foundation

/// A file whose existence tells a victim to stop.
struct StopSign {
    private let path: String

    init(_ arguments: VictimArguments) { path = arguments["sign"] ?? arguments.store + ".stop" }

    var isUp: Bool { access(path, F_OK) == 0 }
}
