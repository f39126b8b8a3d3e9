/**
 * Throws on import if Node.js is too old. Each entry point imports this module first, because other modules would fail
 * with errors that hide the reason.
 */
import { isTooOld, oldestNode } from "./version.ts"

if (isTooOld(process.versions.node)) {
  throw new Error(`doorhook needs Node.js ${oldestNode} or later; this is ${process.versions.node}.`)
}

/** The Node.js versions that doorhook runs on, like `>=22.19`. */
export const supportedNode = `>=${oldestNode}`
