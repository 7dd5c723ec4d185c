import FetchIndex
import Foundation
import Stores
let rows = Int(CommandLine.arguments[1])!
let what = CommandLine.arguments[2]
let count = Int(CommandLine.arguments[3])!
let stores = Stores(rows: rows)
func time(_ body: () throws -> Void) rethrows -> Double { let s = ContinuousClock.now; try body(); return (ContinuousClock.now - s) / .microseconds(1) }
var times: [Double] = []
switch what {
case "open":
  for _ in 0..<count { times.append(try time { let c = try stores.container(); withExtendedLifetime(c) {} }) }
case "warm":
  for _ in 0..<count { times.append(try time {
    let c = try stores.container()
    try c.withOrder(Stores.definition, Stores.options()) { order in
      try order.forEachSection { _ in true }
      try order.forEachRow(limit: 50) { row in for s in 0..<7 { _ = try row.value(at: s) } } } }) }
case "warmopen":
  let keep = try stores.container()
  for _ in 0..<count { times.append(try time {
    let c = try stores.container()
    try c.withOrder(Stores.definition, Stores.options()) { order in
      try order.forEachSection { _ in true }
      try order.forEachRow(limit: 50) { row in for s in 0..<7 { _ = try row.value(at: s) } } } }) }
  withExtendedLifetime(keep) {}
case "catch":
  let c = try stores.container()
  try c.withOrder(Stores.definition, Stores.options()) { _ in }
  var seed = UInt64(Date().timeIntervalSince1970 * 1000)
  for _ in 0..<count { seed += 1; try stores.change(1000, in: c, seed: seed)
    times.append(try time { try c.withOrder(Stores.definition, Stores.options()) { _ in } }) }
case "build":
  let c = try stores.container()
  for _ in 0..<count { try c.deleteCache(named: Stores.cacheName)
    times.append(try time { try c.withOrder(Stores.definition, Stores.options()) { _ in } }) }
default: break
}
times.sort()
print(what, "median", times[times.count / 2], "µs; min", times[0])
