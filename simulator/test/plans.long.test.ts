/** Plans are the same, byte for byte, with different versions of Node.js, and their memory does not grow with time. */
import { execFile } from "node:child_process"
import { existsSync, realpathSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const run = async (node: string, ...args: ReadonlyArray<string>) =>
  (await promisify(execFile)(node, ["--conditions=source", "--no-warnings", ...args])).stdout

const program = fileURLToPath(new URL("planHash.ts", import.meta.url))

/** All Node.js binaries in the project's dependencies and in the path. */
const found = [
  fileURLToPath(new URL("../../node_modules/node/bin/node", import.meta.url)),
  ...(process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "node"))
].filter(existsSync)

const nodes = [...new Set([process.execPath, ...found].map((path) => realpathSync(path)))]

/** Whether a version can run sources without a build. */
const isFit = (version: string): boolean => {
  const [major = 0, minor = 0] = version.replace("v", "").split(".").map(Number)
  return major > 22 || (major === 22 && minor >= 19)
}

/** SHA-256 of the plans of all presets, the same with every version and on every system. */
const golden = "1419d6492c468fc9ea77194e995d2377bddcadff4eb2f496b8a7cf60db6142ec"

describe("plans", () => {
  it.each(nodes)("are the same, byte for byte, with %s", async (node) => {
    const version = (await promisify(execFile)(node, ["--version"])).stdout.trim()
    if (!isFit(version)) {
      process.stderr.write(`\nNOT TESTED: ${node} is ${version}; plans are compared from Node.js 22.19 on\n`)
      return
    }
    assert.strictEqual(await run(node, program), golden, version)
  })

  it("of a hundred buildings take no more memory for fifteen days than for five", async () => {
    const printed = await run(process.execPath, fileURLToPath(new URL("planHeap.ts", import.meta.url)), "15")
    const { events, used }: { readonly events: number; readonly used: ReadonlyArray<number> } = JSON.parse(printed)
    assert.isAbove(events, 100_000)
    assert.isAtLeast(used.length, 4)
    const [first = 0] = used
    for (const bytes of used) assert.isBelow(bytes, first + 4_000_000, used.join(" "))
  })
})
