/**
 * The complete engine with misbehaving receivers: each delivery has the right outcome, and healthy receivers are not
 * delayed.
 */
import { assert, describe, it } from "@effect/vitest"
import type { DeliveryDetail, Doorhook } from "doorhook"
import { maxExcerptLength } from "@doorhook/core"
import { Effect } from "effect"
import { onHttp, onHttps } from "@doorhook/testkit/hostile/Catalogue"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import { answers, ok, serve } from "@doorhook/testkit/hostile/RawReceiver"
import { mount, start, tokenFrom, untilEnded } from "./harness/Embedded.ts"
import { createIntegration } from "./harness/ThirdParty.ts"

/** The kinds of misbehaviour, with one receiver for each. */
const chosen = [
  "neverAnswers",
  "neverReads",
  "dripsHeaders",
  "dripsBody",
  "endlessHeaders",
  "endlessBody",
  "endlessInterim",
  "sendsGzipBomb",
  "sendsInvalidUtf8",
  "resetsOnConnect",
  "resetsInHeaders",
  "endsWithoutAnswer",
  "greetsAsSsh",
  "hasTwoLengths",
  "isSelfSigned",
  "speaksPlainHttp",
  "stopsInHandshake"
]

const authority = makeAuthority()
const hostile = [...onHttp, ...onHttps(authority)].filter(({ name }) => chosen.includes(name))

/** Creates an integration for each URL over HTTP, as a third party would. Returns their ids. */
const integrateAll = (doorhook: Doorhook, urls: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { url } = yield* mount(doorhook)
    const token = yield* tokenFrom(url)
    const created = urls.map((receiver) => createIntegration(url, token, receiver))
    return (yield* Effect.promise(() => Promise.all(created))).map(({ id }) => id)
  }).pipe(Effect.scoped)

const endsOf = ({ attempts }: DeliveryDetail): ReadonlyArray<number> =>
  attempts.map(({ duration_ms, started_at }) => Date.parse(started_at) + duration_ms)

describe("doorhook among hostile receivers", () => {
  it.live("has the right outcome for each, and sends to healthy ones without delay", () =>
    Effect.scoped(
      Effect.gen(function* () {
        assert.strictEqual(hostile.length, chosen.length)
        const doorhook = yield* start({ retry: { access_log: [], call: [] }, ackTimeout: "15s" })
        const healthy = yield* serve(answers(ok))
        const receivers = yield* Effect.forEach(hostile, ({ behave, scheme }) => serve(behave, { scheme }))
        const gone = yield* Effect.scoped(serve(answers(ok)))
        const redirects = yield* serve(
          answers(`HTTP/1.1 302 Found\r\nlocation: ${healthy.url}\r\ncontent-length: 0\r\n\r\n`)
        )
        const expected: ReadonlyArray<readonly [name: string, url: string, outcome: string]> = [
          ...hostile.map(({ name, outcome }, i) => [name, receivers[i]?.url ?? "", outcome] as const),
          ["nobody", gone.url, "connection_refused"],
          ["no address", "http://receiver.invalid/hook", "dns"],
          ["redirects", redirects.url, "bad_status"],
          ["healthy", healthy.url, "acknowledged"]
        ]
        const integrations = yield* integrateAll(
          doorhook,
          expected.map(([, url]) => url)
        )
        const published = yield* Effect.promise(() =>
          doorhook.publish({ resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } })
        )
        assert.strictEqual(published.deliveries, expected.length)

        const shown = new Map<string, DeliveryDetail>()
        for (const { id, integration_id } of yield* untilEnded(doorhook, published.id)) {
          shown.set(integration_id, yield* Effect.promise(() => doorhook.deliveries.show(id)))
        }
        for (const [i, [name, , outcome]] of expected.entries()) {
          const delivery = shown.get(integrations[i] ?? "")
          assert.deepStrictEqual(
            delivery?.attempts.map((attempt) => attempt.outcome),
            [outcome],
            name
          )
          assert.strictEqual(delivery?.state, outcome === "acknowledged" ? "delivered" : "exhausted", name)
          const [attempt] = delivery?.attempts ?? []
          if (attempt?.status === null) assert.match(attempt.detail ?? "", /^\S.{10,500}$/, name)
          else assert.isAtMost(Buffer.byteLength(attempt?.response_excerpt ?? ""), maxExcerptLength, name)
        }
        // The healthy receiver got each event exactly once, and before any other receiver timed out.
        const all = [...shown.values()]
        const late = all.filter(({ attempts }) => attempts.some(({ outcome }) => outcome === "timeout")).flatMap(endsOf)
        const well = shown.get(integrations.at(-1) ?? "")
        assert.isBelow(Math.max(...(well === undefined ? [Number.NaN] : endsOf(well))), Math.min(...late))
        assert.strictEqual(healthy.accepted(), 1)
      })
    )
  )
})
