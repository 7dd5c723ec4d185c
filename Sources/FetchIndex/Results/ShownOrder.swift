internal import FetchIndexOrderCaches

/// The state of the order that a controller shows.
//
//                 fetch              damage in the order             damage in the records
//     nothing  --------->  order  ------------------------>  repaired  ------------------>  failure(isTold: false)
//                            |                                                                |  deliver
//                            +---------------- damage in the records --------------------->   v
//                                                                                           failure(isTold: true)
//
// A successful fetch leads from each state to `order`. When the context processes edits, advances or rolls back, the
// state stays, unless damage is found.
enum ShownOrder {
    /// The controller has not fetched yet.
    case nothing
    /// The order that the last fetch opened. It follows the context.
    case order(LiveOrder)
    /// An order that was computed again in memory, because the opened order couldn't be read or updated. Counts that
    /// were read from the opened order may be wrong.
    case repaired(LiveOrder)
    /// The controller has no rows, because records that the order needs are damaged. Listeners are notified of the
    /// failure once.
    case failure(any Error, isTold: Bool)

    var live: LiveOrder? {
        switch self {
        case .order(let live), .repaired(let live): live
        case .nothing, .failure: nil
        }
    }

    /// Whether damage was found since the last fetch.
    var hasMetDamage: Bool {
        switch self {
        case .nothing, .order: false
        case .repaired, .failure: true
        }
    }
}
