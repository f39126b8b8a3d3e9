import {
  EventId,
  GrantId,
  hasExpired,
  JsonText,
  lifetimeFor,
  occurrenceOf,
  subscriptionLifetimes
} from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { makeLeased } from "../fixtures.ts"

const { least, most, usual } = subscriptionLifetimes

describe("the lifetime of a subscription", () => {
  it("is what the client suggests, within the limits", () => {
    fc.assert(
      fc.property(fc.nat(), (suggested) => {
        const given = lifetimeFor(suggested)
        assert.isAtLeast(given, least)
        assert.isAtMost(given, most)
        // Longer than suggested only because of the floor (section "Subscription TTL").
        if (given > suggested) assert.strictEqual(given, least)
        if (suggested >= least && suggested <= most) assert.strictEqual(given, suggested)
      })
    )
    assert.strictEqual(lifetimeFor(undefined), usual)
    assert.strictEqual(lifetimeFor(null), most)
  })

  it("is over at its end, not before", () => {
    const subscription = { id: "sub_1", name: "call.create", grant_id: GrantId.make("g"), expires_at: 5, cursor: "" }
    assert.deepStrictEqual(
      [4, 5, 6].map((now) => hasExpired(subscription, now)),
      [false, true, true]
    )
  })
})

describe("an occurrence", () => {
  it("has the data as published, and the members that were added", () => {
    const more = fc.record(
      { cursor: fc.string(), _meta: fc.dictionary(fc.string(), fc.string()) },
      { requiredKeys: [] }
    )
    fc.assert(
      fc.property(fc.json(), more, (data, added) => {
        const text = occurrenceOf(
          { ...makeLeased(1).event, data: JsonText.JsonText.make(data), created_at: 1_000 },
          added
        )
        assert.include(text, `"data":${data}`)
        const { _meta, cursor, data: parsed, ...rest } = JSON.parse(text)
        assert.deepStrictEqual(parsed, JSON.parse(data))
        assert.strictEqual(cursor, added.cursor)
        assert.deepStrictEqual(_meta, added._meta && JSON.parse(JSON.stringify(added._meta)))
        assert.deepStrictEqual(rest, {
          eventId: EventId.make("evt_0000000000000000"),
          name: "access_log.create",
          timestamp: "1970-01-01T00:00:01.000Z"
        })
      })
    )
  })
})
