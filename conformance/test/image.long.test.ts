/**
 * The image that the suite's Dockerfile makes, where a container engine runs.
 */
import { startReceiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { copyFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const run = promisify(execFile)

const docker = (...args: ReadonlyArray<string>) => spawnSync("docker", args, { encoding: "utf8" })

const hasDocker = docker("info").status === 0
if (!hasDocker) process.stderr.write("SKIPPED: the image of the suite, because no container engine runs here\n")

const image = "doorhook-conformance-test"

describe.skipIf(!hasDocker)("the image", () => {
  it.live("tests a receiver on the host", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      for (const file of ["Dockerfile", "dist/doorhook-conformance.cjs"]) {
        const source = fileURLToPath(new URL(`../${file}`, import.meta.url))
        copyFileSync(source, `${folder}/${file.replace("dist/", "")}`)
      }
      const built = docker("build", "-t", image, folder)
      assert.strictEqual(built.status, 0, built.stderr)
      yield* Effect.addFinalizer(() => Effect.sync(() => docker("image", "rm", image)))
      const receiver = yield* startReceiver()
      const args = ["run", "--rm", "--network", "host", image, "run", "--url", receiver.url, "--only", "R-ACK-*"]
      const { stdout } = yield* Effect.promise(() => run("docker", args))
      assert.include(stdout, "The receiver conforms")
    })
  )
})
