/// Accepts only requests that name this server's own address and have its token in the path. Other users of the machine and pages of
/// other sites aren't told the token.
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

    /// Returns the part of the path after the token; nil if the request isn't accepted.
    func path(of request: HTTPRequest) -> String? {
        guard request.method == "GET", hosts.contains(request.host) else { return nil }
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].isEmpty, isToken(parts[1]) else { return nil }
        return String(parts[2])
    }

    /// Compares in constant time for texts of the token's length, so that timing doesn't reveal the token.
    private func isToken(_ text: Substring) -> Bool {
        guard text.utf8.count == token.utf8.count else { return false }
        return zip(text.utf8, token.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
