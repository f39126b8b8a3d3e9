/**
 * The version of the package, and the Node.js that it needs.
 */
import manifest from "../package.json" with { type: "json" }

export const version: string = manifest.version

/** The oldest Node.js that the packages run on, like `22.19`. */
export const oldestNode: string = manifest.engines.node.replace(">=", "")

/** Whether a version of Node.js is older than that. */
export const isTooOld = (node: string): boolean => {
  const [major = 0, minor = 0] = node.split(".").map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split(".").map(Number)
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}
