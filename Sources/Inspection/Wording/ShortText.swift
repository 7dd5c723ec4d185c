extension String {
    /// Returns the visible form of the text, cut with "…" after `length` characters.
    package func shortened(to length: Int) -> String {
        // The rest isn't read: texts may be very long.
        guard let end = index(startIndex, offsetBy: length, limitedBy: endIndex), end < endIndex else { return visible }
        return String(self[..<end]).visible + "…"
    }
}
