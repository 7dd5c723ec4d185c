internal import CFetchIndexExpat
internal import FetchIndexPlatform

/// An element of an XML document, with its elements and its text.
struct XMLTree {
    let name: String
    let attributes: [String: String]
    /// The line on which the element begins, from 1.
    let line: Int
    private(set) var children: [XMLTree] = []
    private(set) var text = ""

    func children(named name: String) -> [XMLTree] { children.filter { $0.name == name } }

    /// Reads a document by expat. Throws `Malformed`. A document type that declares something is refused, because its
    /// entities may name other files or expand without limit; that of property lists declares nothing. O(bytes).
    static func read(_ bytes: [UInt8]) throws -> XMLTree {
        guard let parser = XML_ParserCreate("UTF-8") else { throw Malformed(reason: "there is no memory to read it") }
        defer { XML_ParserFree(parser) }
        let reader = Reader(parser)
        XML_SetUserData(parser, Unmanaged.passUnretained(reader).toOpaque())
        XML_SetElementHandler(parser, { Reader.of($0).begin($1, $2) }, { data, _ in Reader.of(data).end() })
        XML_SetCharacterDataHandler(parser) { Reader.of($0).add($1, $2) }
        XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, hasDeclarations in
            if hasDeclarations != 0 { Reader.of(data).stop("its document type has declarations, which are not read") }
        }
        guard let length = Int32(exactly: bytes.count) else { throw Malformed(reason: "it is larger than 2 GiB") }
        let status = bytes.withUnsafeBytes {
            XML_Parse(parser, $0.bindMemory(to: CChar.self).baseAddress, length, 1)
        }
        defer { withExtendedLifetime(reader) {} }
        if let reason = reader.reason { throw Malformed(reason: reason) }
        guard status == XML_STATUS_OK, let root = reader.root else {
            let message = XML_ErrorString(XML_GetErrorCode(parser)).map { String(cString: $0) } ?? "unknown error"
            let (line, column) = (XML_GetCurrentLineNumber(parser), XML_GetCurrentColumnNumber(parser) + 1)
            throw Malformed(reason: "line \(line), column \(column): it is not XML: \(message)")
        }
        return root
    }

    struct Malformed: Error { let reason: String }

    /// Collects the elements that expat reports.
    private final class Reader {
        /// Elements can't be nested deeper. Models have five levels.
        private static let greatestDepth = 64

        private let parser: OpaquePointer
        private var open: [XMLTree] = []
        private(set) var root: XMLTree?
        /// Why reading was stopped.
        private(set) var reason: String?

        init(_ parser: OpaquePointer) { self.parser = parser }

        static func of(_ data: UnsafeMutableRawPointer?) -> Reader {
            guard let data else { preconditionFailure("The parser has lost its reader.") }
            return Unmanaged<Reader>.fromOpaque(data).takeUnretainedValue()
        }

        func begin(_ name: UnsafePointer<CChar>?, _ list: UnsafeMutablePointer<UnsafePointer<CChar>?>?) {
            if reason != nil { return }
            if open.count == Self.greatestDepth { return stop("its elements are nested more than 64 deep") }
            var attributes: [String: String] = [:]
            var index = 0
            while let key = list?[index], let value = list?[index + 1] {
                attributes[String(cString: key)] = String(cString: value)
                index += 2
            }
            open.append(
                XMLTree(
                    name: name.map { String(cString: $0) } ?? "", attributes: attributes,
                    line: Int(XML_GetCurrentLineNumber(parser))))
        }

        func end() {
            guard reason == nil, let element = open.popLast() else { return }
            if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
        }

        func add(_ text: UnsafePointer<CChar>?, _ length: Int32) {
            guard reason == nil, !open.isEmpty, let text else { return }
            let bytes = UnsafeRawBufferPointer(start: text, count: Int(length))
            open[open.count - 1].text += String(decoding: bytes, as: UTF8.self)
        }

        func stop(_ reason: String) {
            self.reason = "line \(XML_GetCurrentLineNumber(parser)): \(reason)"
            XML_StopParser(parser, 0)
        }
    }
}
