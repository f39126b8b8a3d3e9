/**
 * The version of the package, and the oldest Node.js that it supports.
 */
import manifest from "../package.json" with { type: "json" }

export const version: string = manifest.version

/** The oldest supported version of Node.js, like `22.19`. */
export const oldestNode: string = manifest.engines.node.replace(">=", "")

/** Whether a version of Node.js is older than the oldest supported one. */
export const isTooOld = (node: string): boolean => {
  const [major = 0, minor = 0] = node.split(".").map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split(".").map(Number)
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}
