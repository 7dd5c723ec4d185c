/// Lets in only requests for this server's own address, with its token: neither other users of the machine nor pages of other sites
/// know it.
struct PageGate: Sendable {
    private static let tokenBytes = 16

    /// 128 random bits as hexadecimal digits.
    let token: String
    private let hosts: Set<String>

    init(port: UInt16) {
        var generator = SystemRandomNumberGenerator()
        token = (0..<Self.tokenBytes).map { _ in
            let byte = UInt8.random(in: 0...255, using: &generator)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
    }

    /// What is asked for behind the token; nil for a request that gets nothing.
    func path(of request: HTTPRequest) -> String? {
        guard request.method == "GET", hosts.contains(request.host) else { return nil }
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].isEmpty, isToken(parts[1]) else { return nil }
        return String(parts[2])
    }

    /// In the same time for each text of the token's length.
    private func isToken(_ text: Substring) -> Bool {
        guard text.utf8.count == token.utf8.count else { return false }
        return zip(text.utf8, token.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
