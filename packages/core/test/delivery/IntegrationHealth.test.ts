/**
 * A failure of a receiver is logged with one line when it begins and one when it ends.
 */
import { assert, describe, it } from "@effect/vitest"
import { IntegrationHealth, failuresInARow, mostInAMinute, logCooldown } from "../../src/delivery/IntegrationHealth.ts"
import type { Recorded } from "../../src/delivery/IntegrationHealth.ts"
import { BuildingId, IntegrationId } from "@doorhook/core"
import fc from "fast-check"
import { attemptOf } from "./fixtures.ts"

const start = Date.UTC(2026, 2, 2, 7)

const recorded = (id: number, outcome: "acknowledged" | "bad_status", status = 503): Recorded => ({
  delivery: {
    integration: {
      id: IntegrationId.make(id),
      scope: { type: "building", id: BuildingId.make(1) },
      configuration: { url: "https://hooks.example/s3cret", method: "post" }
    }
  },
  settlement: { attempt: attemptOf(outcome, { status: outcome === "acknowledged" ? 200 : status, started_at: start }) }
})
const failed = (id: number) => recorded(id, "bad_status")
const acknowledged = (id: number) => recorded(id, "acknowledged")
const times = (count: number, one: Recorded) => Array.from({ length: count }, () => one)

describe("the log of failing receivers", () => {
  it("reports once that an integration fails, where and how, and once that it acknowledges again", () => {
    const health = new IntegrationHealth()
    assert.deepStrictEqual(health.recorded([failed(1), acknowledged(1), failed(1), failed(1)], [], start), [])
    assert.deepStrictEqual(health.recorded([failed(1)], [], start), [
      {
        level: "warn",
        text: "Integration 1 (hooks.example) of building 1 fails: 3 attempts in a row not acknowledged since 2026-03-02T07:00:00.000Z. Last: The receiver answered 503: it is unavailable for now."
      }
    ])
    assert.deepStrictEqual(health.recorded(times(100, failed(1)), [], start + 60_000), [])
    assert.deepStrictEqual(health.recorded([acknowledged(1), acknowledged(1)], [], start + 90_000), [
      {
        level: "info",
        text: "Integration 1 (hooks.example) of building 1 acknowledges again, after 103 attempts not acknowledged since 2026-03-02T07:00:00.000Z."
      }
    ])
    // A receiver that repeatedly fails and recovers is not logged each time.
    assert.deepStrictEqual(health.recorded([...times(9, failed(1)), acknowledged(1)], [], start + logCooldown - 1), [])
    assert.lengthOf(health.recorded([...times(9, failed(1)), acknowledged(1)], [], start + logCooldown), 2)
  })

  it("reports another cause after three attempts, and each cause once in ten minutes", () => {
    const health = new IntegrationHealth()
    const lines = (count: number, status: number, at: number) =>
      health.recorded(times(count, recorded(1, "bad_status", status)), [], start + at).map(({ text }) => text)
    assert.lengthOf(lines(3, 502, 0), 1)
    assert.lengthOf(lines(2, 401, 1_000), 0, "twice is not yet another cause")
    const [changed = "", ...more] = lines(1, 401, 2_000)
    assert.match(changed, /fails for another reason now: 6 attempts in a row .* The receiver answered 401/)
    assert.lengthOf(more, 0)
    assert.lengthOf(lines(500, 401, logCooldown * 2), 0, "the same cause is not logged again, however long it lasts")
    const flapping = Array.from({ length: 40 }, (_, at) => lines(3, 500 + (at % 2), logCooldown * 3 + at)).flat()
    assert.lengthOf(flapping, 2, "causes that alternate are each named once")
    assert.lengthOf(lines(3, 500, logCooldown * 4 + 100), 1)
  })

  it("reports another cause even if the receiver worked in between", () => {
    const health = new IntegrationHealth()
    assert.lengthOf(health.recorded([...times(3, failed(1)), acknowledged(1)], [], start), 2)
    assert.lengthOf(health.recorded([...times(3, failed(1)), acknowledged(1)], [], start + 1_000), 0)
    const [line] = health.recorded(times(3, recorded(1, "bad_status", 401)), [], start + 2_000)
    assert.match(line?.text ?? "", /of building 1 fails: 3 attempts in a row .* answered 401/)
  })

  it("does not repeat notifications, and shows only the host of a URL", () => {
    const health = new IntegrationHealth()
    const about = { integration_id: IntegrationId.make(1) }
    health.recorded(times(3, failed(1)), [], start)
    assert.deepStrictEqual(health.recorded([failed(1)], [{ kind: "disabled", ...about }], start), [])
    assert.deepStrictEqual(health.recorded([acknowledged(1)], [{ kind: "recovered", ...about }], start), [])
    assert.deepStrictEqual(health.recorded(times(9, failed(1)), [{ kind: "disabled", ...about }], start), [])
    // The recovery is logged, although this process counted only one failure and no notification reported the recovery.
    health.recorded([failed(3)], [{ kind: "failing", integration_id: IntegrationId.make(3) }], start)
    assert.deepStrictEqual(health.recorded([acknowledged(3)], [], start), [
      { level: "info", text: "Integration 3 (hooks.example) of building 1 acknowledges again." }
    ])
    const elsewhere = recorded(2, "bad_status", 302)
    const { attempt } = elsewhere.settlement
    const settlement = { attempt: attempt && { ...attempt, detail: "points to https://x.example/s3cret" } }
    const [line] = health.recorded(times(3, { ...elsewhere, settlement }), [], start)
    assert.match(line?.text ?? "", /answered 302/)
    assert.notInclude(line?.text ?? "", "s3cret")
  })

  it("reports many failures within a minute in one line, and each integration later", () => {
    const health = new IntegrationHealth()
    const all = Array.from({ length: mostInAMinute + 5 }, (_, n) => n + 1)
    const first = health.recorded(
      all.flatMap((id) => times(3, failed(id))),
      [],
      start
    )
    assert.lengthOf(first, mostInAMinute + 1)
    assert.match(first.at(-1)?.text ?? "", /More than 20 integrations began to fail/)
    assert.lengthOf(health.recorded(all.map(failed), [], start + 60_000), 5)
  })

  it("never reports a failure or a recovery of an integration twice in a row, whatever happens", () => {
    const event = fc.record({ id: fc.integer({ min: 1, max: 3 }), ok: fc.boolean(), wait: fc.nat(logCooldown) })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), (events) => {
        const health = new IntegrationHealth()
        const told = new Map<number, string>()
        const row = new Map<number, number>()
        let now = start
        for (const { id, ok, wait } of events) {
          now += wait
          row.set(id, ok ? 0 : (row.get(id) ?? 0) + 1)
          for (const { level } of health.recorded([ok ? acknowledged(id) : failed(id)], [], now)) {
            assert.notStrictEqual(told.get(id) ?? "info", level)
            if (level === "warn") assert.isAtLeast(row.get(id) ?? 0, failuresInARow)
            told.set(id, level)
          }
        }
      })
    )
  })
})
