/**
 * Results are calculated from rounds, and the page is generated from results.
 */
import { describe, expect, it } from "vitest"
import { Effect } from "effect"
import type { Benchmark } from "../src/harness/Benchmark.ts"
import { resultOf } from "../src/harness/Benchmark.ts"
import { cpuPerRequest } from "../src/harness/Load.ts"
import { pageOf } from "../src/harness/Page.ts"

const line = { ours: "ours", peer: "theirs", unit: "ms" }

const benchmark: Benchmark = {
  name: "speed",
  summary: "how fast",
  minutes: 1,
  compares: "this with that.",
  leavesOut: "the rest.",
  lines: {
    speed: { ...line, goal: { is: "at most", ratio: 1.5 } },
    "speed/less": { ...line, ratioOf: "peer to ours", goal: { is: "at least", ratio: 3 } },
    "speed/told": { ...line, goal: null }
  },
  run: () => Effect.succeed([])
}

describe("a result", () => {
  it("has the median of the rounds' ratios, not the ratio of the medians", () => {
    const result = resultOf(benchmark, { line: "speed", ours: [10, 30, 20], peer: [10, 10, 20] })
    expect(result).toMatchObject({ ours: 20, peer: 10, ratio: 1, met: true, ratio_range: [1, 3], rounds: 3 })
  })

  it("is not met if the ratio is beyond the goal", () => {
    expect(resultOf(benchmark, { line: "speed", ours: [16], peer: [10] })).toMatchObject({ ratio: 1.6, met: false })
  })

  it("can have the ratio of the peer to ours", () => {
    const result = resultOf(benchmark, { line: "speed/less", ours: [2], peer: [6] })
    expect(result).toMatchObject({ ratio: 3, met: true })
  })

  it("without a goal is neither met nor missed", () => {
    expect(resultOf(benchmark, { line: "speed/told", ours: [2], peer: [6] })).toMatchObject({ goal: null, met: null })
  })
})

describe("processor time per request", () => {
  const answer = { rate: 1_000, p50: 1, p99: 2 }

  it("is the median of each server's rounds", () => {
    const ours = [30, 10, 20].map((cpu) => ({ ...answer, cpu }))
    expect(cpuPerRequest({ ours, peer: [{ ...answer, cpu: 40.44 }] })).toEqual({
      ours_cpu_us_per_request: 20,
      peer_cpu_us_per_request: 40.4
    })
  })

  it("is left out if it can't be read, or if the server has failed", () => {
    expect(cpuPerRequest({ ours: [{ ...answer, cpu: null }], peer: [] })).toEqual({})
  })
})

describe("the page", () => {
  const result = resultOf(benchmark, { line: "speed", ours: [16], peer: [10] })
  const measured = [{ benchmark: "speed", on: "2026-03-02", machine: "2 cores", results: [result] }]

  it("shows missed goals", () => {
    expect(pageOf([benchmark], measured)).toContain("| `speed` | ≤ 1.5 | 1.6 | **no** |")
  })

  it("shows further figures", () => {
    const told = resultOf(benchmark, { line: "speed", ours: [1], peer: [1], more: { ours_p99_ms: 7 } })
    const page = pageOf([benchmark], [{ benchmark: "speed", on: "", machine: "", results: [told] }])
    expect(page).toContain("- `speed`: ours p99 ms 7")
  })

  it("lists benchmarks that were not measured", () => {
    expect(pageOf([benchmark], [])).toContain("Not measured yet.")
  })

  it("has the notes of a benchmark", () => {
    expect(pageOf([{ ...benchmark, notes: "Because." }], measured)).toContain("**Notes.** Because.")
  })
})
