internal import FetchIndexOrderCaches

/// The state of the order that a controller shows.
//
//                 fetch              damage in the order             damage in the records
//     nothing  --------->  order  ------------------------>  repaired  ------------------>  failure(isTold: false)
//                            |                                                                |  deliver
//                            +---------------- damage in the records --------------------->   v
//                                                                                           failure(isTold: true)
//
// A successful fetch leads from each state to `order`, except during the controller's own delivery. When the context
// processes edits, advances or rolls back, the state stays, unless damage is found.
enum ShownOrder {
    /// The controller has not fetched yet.
    case nothing
    /// The order that a fetch opened. It follows the context.
    case order(LiveOrder)
    /// An order that was computed again in memory, because the opened order couldn't be read or updated. Counts that
    /// were read from the opened order may be wrong.
    case repaired(LiveOrder)
    /// The controller has no rows, because the order couldn't be computed again, usually because of damaged records.
    /// Listeners are notified of the failure at most once.
    case failure(any Error, isTold: Bool)

    var live: LiveOrder? {
        switch self {
        case .order(let live), .repaired(let live): live
        case .nothing, .failure: nil
        }
    }

    /// Whether damage was found since a fetch opened the order.
    var hasMetDamage: Bool {
        switch self {
        case .nothing, .order: false
        case .repaired, .failure: true
        }
    }
}
