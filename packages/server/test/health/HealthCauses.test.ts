import { assert, describe, it } from "@effect/vitest"
import { idleStatus, StoreReason } from "@doorhook/core"
import { readFileSync } from "node:fs"
import { healthCauses, readinessOf } from "../../src/health/HealthCauses.ts"
import { healthDefaults } from "../../src/health/HealthSettings.ts"
import type { HealthStatus } from "../../src/health/HealthStatus.ts"

const well: HealthStatus = {
  ...idleStatus,
  now: 1_000_000,
  last_claim_at: 1_000_000,
  oldest_due_age_ms: 0,
  store_refusal: null,
  store_trouble: null,
  clock_ahead_ms: 0,
  authorization_refusal: null
}

const statusOf = (changes: Partial<HealthStatus>) => readinessOf({ ...well, ...changes }, healthDefaults)

describe("the causes of a process that is not ready", () => {
  it("are exactly those in the table of statuses", () => {
    const page = readFileSync(new URL("../../../../docs/operations.md", import.meta.url), "utf8")
    const table = /^## The health status\n[^]*?^\| status [^]*?(?=\n\n)/m.exec(page)?.[0] ?? ""
    const listed = [...table.matchAll(/^\|([^|]*)\|/gm)].flatMap(([, cell = ""]) => [...cell.matchAll(/`(\w+)`/g)])
    assert.sameMembers(
      listed.map(([, code]) => code).filter((code) => code !== "ready" && code !== "outage"),
      [...new Set(healthCauses.map(({ code }) => code))]
    )
  })

  it("name each reason for which a store fails", () => {
    assert.deepStrictEqual(statusOf({}), { isReady: true, status: "ready", detail: null, causes: [] })
    for (const reason of StoreReason.literals)
      assert.strictEqual(
        statusOf({ store_refusal: reason }).status,
        reason === "unreachable" ? "store_unreachable" : reason
      )
    assert.strictEqual(statusOf({ store_refusal: "unknown" }).status, "store_refuses_changes")
  })

  it("with a clock that differs by more than 5 s, leave the process ready", () => {
    for (const clock_ahead_ms of [null, 5_000, -5_000]) assert.strictEqual(statusOf({ clock_ahead_ms }).status, "ready")
    for (const clock_ahead_ms of [5_001, -5_001]) {
      const { isReady, status } = statusOf({ clock_ahead_ms })
      assert.deepStrictEqual([isReady, status], [true, "clock"])
    }
    const { causes, isReady, status } = statusOf({ clock_ahead_ms: 300_000, store_refusal: "disk_full" })
    assert.deepStrictEqual([isReady, status, causes.length], [false, "disk_full", 2])
    const stalled = statusOf({ clock_ahead_ms: 300_000, last_claim_at: 900_000 })
    assert.deepStrictEqual([stalled.isReady, stalled.status], [false, "stalled"])
  })

  it("leave a process ready that other processes deliver for", () => {
    const late = { last_claim_at: null, oldest_due_age_ms: 60_000 }
    for (const delivers of [true, false])
      assert.strictEqual(statusOf({ ...late, delivers, oldest_due_age_ms: 30_000 }).status, "ready")
    assert.strictEqual(statusOf(late).status, "stalled")
    for (const [changes, code, said] of [
      [{ ...late, delivers: false }, "not_delivered", /due for 60000 ms.*Check that a process delivers/],
      [{ ...late, settings_differ: "Settings differ: retry." }, "settings_differ", /retry/],
      [{ last_claim_at: 1, settings_differ: "Settings differ: retry." }, "settings_differ", /retry/]
    ] as const) {
      const { causes, isReady, status } = statusOf(changes)
      assert.deepStrictEqual([isReady, status], [true, code])
      assert.deepStrictEqual(
        causes.map((cause) => cause.code),
        [code]
      )
      assert.match(causes[0]?.detail ?? "", said)
    }
  })

  it("are all named, and a process that the store stops is not called stalled", () => {
    const stalled = { last_claim_at: 900_000, unsettled_since: 900_000 }
    assert.deepStrictEqual(
      statusOf(stalled).causes.map(({ code }) => code),
      ["stalled", "stalled"]
    )
    const { causes, detail, status } = statusOf({ ...stalled, store_trouble: "EIO.", store_refusal: "disk_full" })
    assert.strictEqual(status, "sync_failed")
    assert.strictEqual(detail, causes[0]?.detail)
    assert.deepStrictEqual(
      causes.map(({ code }) => code),
      ["sync_failed", "disk_full"]
    )
  })
})
