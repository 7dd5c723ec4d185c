import CLibFuzzer
import FetchIndexFuzzBodies

/// libFuzzer calls this function with one input after the other.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzBody.stream.run([UInt8](UnsafeBufferPointer(start: start, count: count)))
    return 0
}

@main enum FuzzStream {
    static func main() {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        _ = LLVMFuzzerRunDriver(&count, &arguments) { testOneInput($0, $1) }
    }
}
