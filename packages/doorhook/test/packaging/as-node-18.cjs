/**
 * Removes features that Node.js 18 lacks: `node --require as-node-18.cjs FILE`.
 */
const lacking = [
  [Array, "fromAsync"],
  [Array.prototype, "toReversed", "toSorted", "toSpliced", "with"],
  [Map, "groupBy"],
  [Object, "groupBy"],
  [Promise, "try", "withResolvers"],
  [Set.prototype, "difference", "intersection", "isDisjointFrom", "isSubsetOf", "isSupersetOf", "union"],
  [Iterator.prototype, ...Object.getOwnPropertyNames(Iterator.prototype).filter((name) => name !== "constructor")],
  [String.prototype, "isWellFormed", "toWellFormed"],
  [URL, "parse"],
  [require("node:crypto"), "hash"],
  [process, "getBuiltinModule"],
  [globalThis, "crypto", "Iterator"]
]
for (const [object, ...names] of lacking) for (const name of names) delete object[name]
