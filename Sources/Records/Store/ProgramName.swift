internal import SystemC

/// The name of a process's program, as the system has it: 15 bytes at most, from /proc. Nil where it does not tell.
package func programName(ofProcess process: Int) -> String? {
    let file = open("/proc/\(process)/comm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var name = [UInt8](repeating: 0, count: 64)
    let length = read(file, &name, name.count)
    return length > 1 ? String(decoding: name[..<(length - 1)], as: UTF8.self) : nil
}
