/**
 * The decisions about purges and redeliveries that all stores share.
 */
import { StoreRules } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"

const { purgePage, refusalOf } = StoreRules

const before = 100
const now = 200

describe("a page of a purge", () => {
  const page = (limit: number, ...times: ReadonlyArray<number>) => {
    const found = times.map((created_at, at) => ({ seq: at + 1, created_at }))
    const { next, old } = purgePage(found, { before, limit, now })
    return [old.map(({ seq }) => seq), next]
  }

  it("has the old events of its limit, even behind younger ones, and continues if more events follow", () => {
    assert.deepEqual(page(3, 1, before, 99, 2), [[1, 3], 3])
    assert.deepEqual(page(3, 1, before, 99), [[1, 3], null])
    assert.deepEqual(page(3), [[], null])
  })

  it("is the last one if it has recent events and no old ones, but not if all are dated in the future", () => {
    assert.deepEqual(page(2, before, now, 1), [[], null])
    assert.deepEqual(page(2, now + 1, now, 1), [[], null])
    assert.deepEqual(page(2, now + 1, now + 2, 1), [[], 2])
  })
})

describe("a redelivery", () => {
  const manual = { status: "disabled", disabled_reason: "manual" }
  const gone = { status: "disabled", disabled_reason: "gone" }
  const enabled = { status: "enabled", disabled_reason: null }

  it.each([
    ["delivery", enabled, null],
    ["delivery", gone, "integration_disabled"],
    ["delivery", undefined, "integration_deleted"],
    ["integration", enabled, null],
    ["integration", manual, "integration_disabled"],
    ["integration", undefined, "not_found"],
    ["probe", gone, null],
    ["probe", manual, "not_disabled"],
    ["probe", enabled, "not_disabled"],
    ["probe", undefined, "not_found"]
  ] as const)("of type %s to %o is refused as %s", (type, integration, refusal) => {
    assert.strictEqual(refusalOf(type, integration), refusal)
  })
})
