import Dispatch
package import FetchIndexPlatform

extension Crew {
    /// Calls the body as the leader of a crew, while another thread helps.
    package static func withHelper(_ body: (Crew) throws -> Void) throws {
        let crew = Crew()
        let isLed = DispatchSemaphore(value: 0)
        try Threads.run(2) { thread in
            if thread == 0 {
                isLed.wait()
                crew.help()
            } else {
                try crew.lead {
                    isLed.signal()
                    try body(crew)
                }
            }
        }
    }
}
