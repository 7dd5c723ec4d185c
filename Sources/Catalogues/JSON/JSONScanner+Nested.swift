// Reading lists and objects as JSON text.
extension JSONScanner {
    /// Reads a number, text, boolean or null; if `areListsText`, also a list or an object, as its JSON text.
    mutating func scalar(areListsText: Bool) throws(Fault) -> JSONScalar {
        JSONScalar(try token(areListsText: areListsText))
    }

    /// Like `scalar`, without copying the bytes if possible.
    mutating func token(areListsText: Bool) throws(Fault) -> JSONToken {
        areListsText ? try tokenOrText() : try token()
    }

    /// Like `token`, but a list or an object becomes its JSON text, without blanks between its parts. It is read
    /// without recursion, so that any depth of nesting is possible.
    private mutating func tokenOrText() throws(Fault) -> JSONToken {
        guard let opening = nextAfterBlanks(), opening == UInt8(ascii: "[") || opening == UInt8(ascii: "{") else {
            return try token()
        }
        var nesting = JSONNesting()
        repeat { try part(&nesting) } while !nesting.closers.isEmpty
        return .text(.decoded(String(decoding: nesting.text, as: UTF8.self)))
    }

    /// Reads the next element of the innermost open list or object: the name of a member, the value, and the comma or
    /// the closing brackets after it. If the value is a list or an object with contents, reads only its opening
    /// bracket.
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

    /// Skips blanks, and the opening bracket of a list or an object, if any. Returns its closing bracket; otherwise
    /// nil.
    private mutating func skipOpening(_ text: inout [UInt8]) throws(Fault) -> UInt8? {
        for (opening, closer) in [(UInt8(ascii: "["), UInt8(ascii: "]")), (UInt8(ascii: "{"), UInt8(ascii: "}"))]
        where skip(opening) {
            text.append(opening)
            return closer
        }
        return nil
    }
}

/// The state of a scanner inside lists and objects, and the text that it has read of them.
private struct JSONNesting {
    /// The closing brackets of the open lists and objects, the innermost last.
    var closers: [UInt8] = []
    var text: [UInt8] = []
}
