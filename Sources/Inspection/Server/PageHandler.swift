internal import FetchIndex
internal import FetchIndexEssentials
internal import FetchIndexInspection

/// Answers the requests that the gate accepts, and other requests with the status 404.
struct PageHandler: Sendable {
    private static let headers = [
        (name: "Cache-Control", value: "no-store"),
        (
            name: "Content-Security-Policy",
            value: "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        (name: "Cross-Origin-Resource-Policy", value: "same-origin"),
        (name: "Referrer-Policy", value: "no-referrer"),
        (name: "X-Content-Type-Options", value: "nosniff"),
    ]

    let store: BrowsedStore
    let gate: PageGate

    func answer(_ request: HTTPRequest) async -> HTTPAnswer {
        guard let path = gate.path(of: request) else { return .notFound }
        do { return try await answer(path, PageQuery(values: request.query)) } catch {
            // `MissingValue` is sent with status 400, another error with 200.
            let status = error is MissingValue ? HTTPAnswer.badRequest.status : HTTPAnswer().status
            return (try? Self.json(ErrorMessage(error: "\(error)".withoutControls), status)) ?? .badRequest
        }
    }

    private func answer(_ path: String, _ query: PageQuery) async throws -> HTTPAnswer {
        if let file = PageFile(rawValue: path) { return Self.answer(file.type, file.content) }
        switch path {
        case "": return Self.html(try await store.reports.page(of: try? store.current()))
        case "store": return Self.html(try await store.reports.store(of: store.current()))
        case "card": return Self.html(try await store.reports.card(of: query.text("cache"), in: store.current()))
        case "view": return try Self.json(await view(query).view())
        case "rows":
            return try Self.json(await view(query).rows(from: query.number("from"), limit: query.number("limit")))
        case "sections":
            return try Self.json(await view(query).sections(from: query.number("from"), limit: query.number("limit")))
        case "place": return try Self.json(await view(query).place(of: query.number("id")))
        case "search":
            return try Self.json(
                await view(query).search(
                    query.text("where"), from: query.number("from"), limit: query.number("limit")))
        case "events":
            let events = await store.events(ofCache: query["cache"])
            return Self.answer("text/event-stream", .events(events))
        default: return .notFound
        }
    }

    private func view(_ query: PageQuery) async throws -> CacheView { try await store.view(of: query.text("cache")) }

    private static func answer(_ type: String, _ body: [UInt8]) -> HTTPAnswer { answer(type, .bytes(body)) }

    private static func answer(_ type: String, _ body: HTTPAnswer.Body) -> HTTPAnswer {
        HTTPAnswer(headers: headers + [(name: "Content-Type", value: type)], body: body)
    }

    private static func html(_ text: String) -> HTTPAnswer { answer("text/html; charset=utf-8", Array(text.utf8)) }

    private static func json(_ message: some Encodable, _ status: String = HTTPAnswer().status) throws -> HTTPAnswer {
        var answer = answer("application/json", Array(try JSONEncoder().encode(message)))
        answer.status = status
        return answer
    }
}

/// A request lacks a value, or has a malformed number.
struct MissingValue: Error, CustomStringConvertible {
    let description: String
}

/// The query values of a request.
struct PageQuery {
    let values: [String: String]

    subscript(name: String) -> String? { values[name] }

    func text(_ name: String) throws -> String {
        guard let value = values[name] else { throw MissingValue(description: "the request lacks \"\(name)\"") }
        return value
    }

    func number<Number: FixedWidthInteger>(_ name: String) throws -> Number {
        let text = try text(name)
        guard let number = Number(text) else {
            throw MissingValue(description: "\"\(name)\" is \"\(text.visible)\", where a number was expected")
        }
        return number
    }
}
