/**
 * Commands whose output can't be written.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { open } from "node:fs/promises"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const bin = fileURLToPath(new URL("../bin/doorhook.js", import.meta.url))

/** A device that behaves like a full disk. Not every system has it. */
const fullDisk = "/dev/full"

/** Runs a command whose standard output goes to a file. */
const runInto = async (file: string, ...args: ReadonlyArray<string>) => {
  const output = await open(file, "w")
  const child = spawn(process.execPath, ["--conditions=source", bin, ...args], {
    stdio: ["ignore", output.fd, "pipe"]
  })
  let stderr = ""
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk))
  const [exitCode]: ReadonlyArray<unknown> = await once(child, "close")
  await output.close()
  return { exitCode, stderr }
}

describe("standard output that can't be written", () => {
  it.runIf(existsSync(fullDisk))(
    "ends a command with one line about it",
    async () => {
      const { exitCode, stderr } = await runInto(fullDisk, "--help")
      assert.strictEqual(stderr, "doorhook: cannot write to standard output: no space left on device\n")
      assert.strictEqual(exitCode, 1)
    },
    60_000
  )
})

/** Program that runs a command on a new terminal. The terminal closes when the program is killed. */
const terminal = "/usr/bin/script"

describe("a terminal that is closed", () => {
  it.runIf(process.platform === "linux" && existsSync(terminal))(
    "stops a service on it, which loses its output and finishes work in flight",
    async () => {
      const serve = `${process.execPath} --conditions=source ${bin} serve --port 0 --database memory`
      // The shell survives the closing of its terminal, passes SIGHUP on to the service, and reports the service's exit
      // code.
      const command = `trap 'kill -HUP $!' HUP; ${serve} & wait $!; wait $!; echo $? >&3`
      const child = spawn(terminal, ["-qfc", command, "/dev/null"], {
        stdio: ["ignore", "pipe", "ignore", "pipe"]
      })
      const [, , , told] = child.stdio
      const exitCode = told instanceof Readable ? text(told) : assert.fail("no pipe")
      for await (const chunk of child.stdout ?? []) if (String(chunk).includes("doorhook listening")) break
      child.kill("SIGKILL")
      assert.strictEqual(await exitCode, "0\n")
    },
    60_000
  )
})
