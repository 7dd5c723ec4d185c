/// Links that wait for later rows, by the number of the object that has them. So a repeated row finds the links of its
/// object without reading the links of other objects.
struct WaitingLinks<Link> {
    private struct Entry {
        /// The number of links that were added before this link.
        let order: Int
        let line: Int
        let link: Link
    }

    private var entries: [UInt64: [Entry]] = [:]
    private var end = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ link: Link, of number: UInt64, line: Int) {
        entries[number, default: []].append(Entry(order: end, line: line, link: link))
        end += 1
        count += 1
    }

    /// Removes those links of an object that fulfil a condition. O(links of the object).
    mutating func removeAll(of number: UInt64, where isRemoved: (_ line: Int, Link) -> Bool) {
        guard let all = entries[number] else { return }
        let left = all.filter { !isRemoved($0.line, $0.link) }
        count -= all.count - left.count
        entries[number] = left.isEmpty ? nil : left
    }

    /// Removes all links, and returns them in the order in which they were added. O(k log k) for k links.
    mutating func removeAll() -> [(number: UInt64, line: Int, link: Link)] {
        let all = entries.flatMap { number, entries in entries.map { (number, $0) } }.sorted { $0.1.order < $1.1.order }
        self = WaitingLinks()
        return all.map { ($0, $1.line, $1.link) }
    }
}
