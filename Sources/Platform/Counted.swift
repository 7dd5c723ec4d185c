/// A number with its noun, for sentences: 1 row, 2 rows. A plural that isn't the noun with an s must be given: 1 entry,
/// 2 entries.
package func counted(_ number: some BinaryInteger, _ noun: String, _ plural: String? = nil) -> String {
    "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
}
