/**
 * Ends the import of the package on a Node.js that is too old, with both versions. It is the first import of each entry: packages
 * behind it fail on an old Node.js with errors that do not name the reason.
 */
import { isTooOld, oldestNode } from "./version.ts"

if (isTooOld(process.versions.node)) {
  throw new Error(`doorhook needs Node.js ${oldestNode} or later; this is ${process.versions.node}.`)
}

/** The Node.js versions that doorhook runs on, like `>=22.19`. */
export const supportedNode = `>=${oldestNode}`
