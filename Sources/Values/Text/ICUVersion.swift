internal import CFetchIndexICU

/// The versions of ICU and its data. ICU's results may differ between versions.
enum ICUVersion {
    /// "ICU 72.1"
    static var library: String { "ICU \(version { fi_icu_version($0) })" }

    /// The version of the locale data, such as "CLDR 42.0".
    static var localeData: String { "CLDR \(version { _ = fi_cldr_version($0) })" }

    private static func version(_ read: (UnsafeMutablePointer<UInt8>) -> Void) -> String {
        var bytes: [UInt8] = [0, 0, 0, 0]
        bytes.withUnsafeMutableBufferPointer { buffer in
            if let base = buffer.baseAddress { read(base) }
        }
        return "\(bytes[0]).\(bytes[1])"
    }
}
