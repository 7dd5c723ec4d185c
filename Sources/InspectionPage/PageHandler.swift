internal import FetchIndex
internal import FlyingFox
internal import Foundation
internal import Wording

/// Answers the requests that the gate lets in.
struct PageHandler: HTTPHandler {
    private static let headers: HTTPHeaders = [
        HTTPHeader("Cache-Control"): "no-store",
        HTTPHeader("Content-Security-Policy"):
            "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self'; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        HTTPHeader("Cross-Origin-Resource-Policy"): "same-origin",
        HTTPHeader("Referrer-Policy"): "no-referrer",
        HTTPHeader("X-Content-Type-Options"): "nosniff",
    ]

    let store: BrowsedStore
    let gate: PageGate

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let path = gate.path(of: request) else { return HTTPResponse(statusCode: .notFound) }
        do {
            return try await answer(path, PageQuery(request.query))
        } catch {
            // Errors of a valid request are answers; a malformed request is none.
            return try Self.json(ErrorMessage(error: "\(error)"), error is MissingValue ? .badRequest : .ok)
        }
    }

    private func answer(_ path: String, _ query: PageQuery) async throws -> HTTPResponse {
        if let file = PageFile(rawValue: path) { return Self.response(.ok, file.type, file.content) }
        switch path {
        case "": return Self.html(try await store.reports.page(of: store.current()))
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
            return HTTPResponse(
                statusCode: .ok, headers: Self.headers(ofType: "text/event-stream"),
                body: HTTPBodySequence(from: EventBytes(events: events)))
        default: return HTTPResponse(statusCode: .notFound)
        }
    }

    private func view(_ query: PageQuery) async throws -> CacheView { try await store.view(of: query.text("cache")) }

    private static func headers(ofType type: String) -> HTTPHeaders {
        var headers = headers
        headers[.contentType] = type
        return headers
    }

    private static func response(_ status: HTTPStatusCode, _ type: String, _ body: Data) -> HTTPResponse {
        HTTPResponse(
            statusCode: status, headers: headers(ofType: type),
            body: HTTPBodySequence(data: body, suggestedBufferSize: max(1, body.count)))
    }

    private static func html(_ text: String) -> HTTPResponse {
        response(.ok, "text/html; charset=utf-8", Data(text.utf8))
    }

    private static func json(_ message: some Encodable, _ status: HTTPStatusCode = .ok) throws -> HTTPResponse {
        response(status, "application/json", try JSONEncoder().encode(message))
    }
}

/// A request of the page that lacks something.
struct MissingValue: Error, CustomStringConvertible {
    let description: String
}

/// The values of a request.
struct PageQuery {
    private let values: [String: String]

    init(_ items: [HTTPRequest.QueryItem]) {
        values = Dictionary(items.map { ($0.name, $0.value) }) { first, _ in first }
    }

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
