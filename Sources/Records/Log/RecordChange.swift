package import FetchIndexModels
/// The change of an object's record between two states. A record is nil if the object doesn't exist in that state.
package struct RecordChange: Equatable, Sendable {
    package let object: RecordKey
    /// The object's key in the old state. It differs from `object` if the object has a temporary key in one of the two
    /// states.
    package let oldObject: RecordKey
    package let old: [UInt8]?
    package let new: [UInt8]?

    package init(object: RecordKey, oldObject: RecordKey? = nil, old: [UInt8]?, new: [UInt8]?) {
        self.object = object
        self.oldObject = oldObject ?? object
        self.old = old
        self.new = new
    }

    /// The change from the new state to the old one.
    package var reversed: RecordChange { RecordChange(object: oldObject, oldObject: object, old: new, new: old) }
}
