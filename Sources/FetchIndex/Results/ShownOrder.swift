internal import FetchIndexOrderCaches

/// The state of the order that a controller shows.
//
//                 fetch              damage in the order             damage in the records
//     nothing  --------->  order  ------------------------>  repaired  ------------------>  failure(isTold: false)
//                            |                                                                |  deliver
//                            +---------------- damage in the records --------------------->   v
//                                                                                           failure(isTold: true)
//
// A fetch leads from each state to `order`. Steps of the context keep the state, unless they find damage.
enum ShownOrder {
    /// The controller has not fetched yet.
    case nothing
    /// The order as it was opened, advanced by each later step.
    case order(LiveOrder)
    /// An order that was computed again in memory, because the opened order is damaged. Counts that were read from the
    /// opened order may be wrong.
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
