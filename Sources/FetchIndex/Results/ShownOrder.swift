internal import FetchIndexOrderCaches

/// What a controller shows.
//
//                 fetch              damage in the order             damage in the records
//     nothing  --------->  order  ------------------------>  repaired  ------------------>  failure(isTold: false)
//                            |                                                                |  deliver
//                            +---------------- damage in the records --------------------->   v
//                                                                                           failure(isTold: true)
//
// A fetch leads from each state to `order`. Steps of the context keep the state.
enum ShownOrder {
    /// The controller has not fetched yet.
    case nothing
    /// The order as it was opened, with each step since.
    case order(LiveOrder)
    /// An order that was computed anew in memory, because the opened one is damaged: counts that were read from that
    /// one may be wrong.
    case repaired(LiveOrder)
    /// No rows: records that the order needs are damaged. Listeners are told once.
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
