extension String {
    /// The text in so many characters at most, cut with "…" and made visible.
    package func shortened(to length: Int) -> String {
        // What is cut off is not looked at: texts may be very long.
        guard let end = index(startIndex, offsetBy: length, limitedBy: endIndex), end < endIndex else { return visible }
        return String(self[..<end]).visible + "…"
    }
}
