extension FollowedSource {
    /// The indexes of the tables, in the order in which they are copied: a table comes after the tables that it refers
    /// to, unless they form a circle.
    var copyOrder: [Int] {
        var order: [Int] = []
        var open: Set<Int> = []
        func visit(_ index: Int) {
            // If tables refer to each other in a circle, one of them comes before a table that it refers to.
            guard !order.contains(index), open.insert(index).inserted else { return }
            for reference in tables[index].references {
                if let other = tables.firstIndex(where: { $0.entity == reference.entity }) { visit(other) }
            }
            order.append(index)
        }
        for index in tables.indices { visit(index) }
        return order
    }
}
