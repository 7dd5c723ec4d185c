package import FetchIndexValues

extension RecordView {
    /// Appends the value in a slot to an order key, directly from its bytes if these and the type allow that.
    package func appendOrderKey(of slot: Int, as type: ValueType, to key: inout [UInt8]) throws {
        guard let range = try range(of: slot) else {
            OrderKey.appendNull(to: &key)
            return
        }
        switch type {
        case .boolean: OrderKey.appendBoolean(try boolean(range), to: &key)
        case .integer: OrderKey.appendInteger(try integer(range), to: &key)
        case .double, .date: OrderKey.appendDouble(try double(range), as: type, to: &key)
        case .string, .data, .url: OrderKey.appendBytes(bytes(range), as: type, to: &key)
        case .uuid where range.count == 16: OrderKey.appendUUID(bytes(range), to: &key)
        case .decimal where OrderKey.appendDecimal(bytes(range), to: &key): break
        case .decimal, .uuid: OrderKey.append(try value(at: slot, as: type), to: &key)
        }
    }
}
