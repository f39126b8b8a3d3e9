/**
 * The packages as they are published.
 */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const root = fileURLToPath(new URL("../../../..", import.meta.url))
const run = promisify(execFile)

describe("the packages", () => {
  it("are built, packed, unpacked in an empty folder, compiled against and run", { timeout: 480_000 }, async () => {
    const { stdout } = await run(process.execPath, [".ci/packed-install.ts", "--linked"], { cwd: root })
    assert.match(stdout, /types: ok\nNode.js \d+\.\d+\.\d+: ok\n$/)
  })

  it("that are pure load no module of Node.js", async () => {
    const program = `import { registerHooks } from "node:module"
      const loaded = []
      registerHooks({ resolve: (specifier, context, next) => {
        const found = next(specifier, context)
        if (found.url.startsWith("node:")) loaded.push(specifier + " from " + context.parentURL)
        return found
      } })
      await import("@doorhook/core")
      process.stdout.write(loaded.join("\\n"))`
    const { stdout } = await run(process.execPath, ["--conditions=source", "--input-type=module", "--eval", program], {
      cwd: fileURLToPath(new URL("../..", import.meta.url))
    })
    assert.strictEqual(stdout, "")
  })
})
