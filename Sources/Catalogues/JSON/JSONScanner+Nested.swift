// Lists and objects as JSON text.
extension JSONScanner {
    /// A number, text, boolean or null, and a list or an object if lists are texts.
    mutating func scalar(areListsText: Bool) throws(Fault) -> JSONScalar {
        JSONScalar(try token(areListsText: areListsText))
    }

    /// As `scalar`, without a copy of the bytes where possible.
    mutating func token(areListsText: Bool) throws(Fault) -> JSONToken {
        areListsText ? try tokenOrText() : try token()
    }

    /// As `token`; a list or an object is the text that it is written as, without blanks between its parts. It is read without
    /// recursion, so that no nesting is too deep.
    private mutating func tokenOrText() throws(Fault) -> JSONToken {
        guard let opening = nextAfterBlanks(), opening == UInt8(ascii: "[") || opening == UInt8(ascii: "{") else {
            return try token()
        }
        var nesting = JSONNesting()
        repeat { try part(&nesting) } while !nesting.closers.isEmpty
        return .text(.decoded(String(decoding: nesting.text, as: UTF8.self)))
    }

    /// Reads one value inside of lists and objects, or the beginning of one, and all that closes after it.
    private mutating func part(_ nesting: inout JSONNesting) throws(Fault) {
        if nesting.closers.last == UInt8(ascii: "}") {
            try copy(&nesting.text) { scanner throws(Fault) in _ = try scanner.uncopiedText() }
            guard skip(UInt8(ascii: ":")) else { throw fault("no colon") }
            nesting.text.append(UInt8(ascii: ":"))
        }
        if let closer = try skipOpening(&nesting.text) {
            nesting.closers.append(closer)
            if !skip(closer) { return }
            nesting.text.append(closer)
            nesting.closers.removeLast()
        } else {
            try copy(&nesting.text) { scanner throws(Fault) in _ = try scanner.token() }
        }
        while let closer = nesting.closers.last {
            if skip(UInt8(ascii: ",")) {
                nesting.text.append(UInt8(ascii: ","))
                return
            }
            guard skip(closer) else { throw fault("neither a comma nor the end of a list or an object") }
            nesting.text.append(closer)
            nesting.closers.removeLast()
        }
    }

    /// After blanks: what closes a list or an object that begins here.
    private mutating func skipOpening(_ text: inout [UInt8]) throws(Fault) -> UInt8? {
        for (opening, closer) in [(UInt8(ascii: "["), UInt8(ascii: "]")), (UInt8(ascii: "{"), UInt8(ascii: "}"))]
        where skip(opening) {
            text.append(opening)
            return closer
        }
        return nil
    }
}

/// Where a scanner is in lists and objects, and what it has read of them.
private struct JSONNesting {
    /// What closes the open ones, the innermost last.
    var closers: [UInt8] = []
    var text: [UInt8] = []
}
