/**
 * Benchmarks run from the command line in small sizes, and their results have the expected form.
 */
import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url))

const bench = async (...args: ReadonlyArray<string>) => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=source", main, ...args])
  return stdout
}

// The tests run concurrently, because they mostly wait and don't check the measured values.
describe.concurrent("npm run bench", () => {
  it("lists every benchmark in one line with its goals", async () => {
    const listed = await bench()
    expect(await bench("deliver-sqlite", "--help")).toBe(listed)
    const lines = listed.split("\n")
    const files = readdirSync(new URL("../src/benches/", import.meta.url))
    for (const file of files) {
      const name = file.replace(/\.ts$/, "")
      expect(lines.filter((line) => line.startsWith(`${name} `))).toEqual([
        expect.stringMatching(/goal at (least|most) [\d.]+/)
      ])
    }
  })

  it("runs one and prints its results as JSON last", async () => {
    const name = "deliver-sqlite"
    const lines = (await bench(name, "--quick")).trimEnd().split("\n")
    const result: unknown = JSON.parse(lines.at(-1) ?? "")
    expect(result).toEqual({
      name,
      ours: expect.any(Number),
      peer: expect.any(Number),
      ratio: expect.any(Number),
      goal: expect.any(Number),
      goal_is: expect.stringMatching(/^at (least|most)$/),
      met: expect.any(Boolean),
      unit: expect.any(String),
      rounds: 1,
      ours_range: [expect.any(Number), expect.any(Number)],
      peer_range: [expect.any(Number), expect.any(Number)],
      ratio_range: [expect.any(Number), expect.any(Number)]
    })
  })

  it.each([
    [["deliver-nothing"], "deliver-sqlite"],
    [["growth", "--rows", "many"], "whole number"],
    [["growth", "--quick", "--write"], "real measurements"]
  ])("refuses %j in a line that says what is accepted", async (args, says) => {
    await expect(bench(...args)).rejects.toMatchObject({ code: 3, stderr: expect.stringContaining(says) })
  })
})
