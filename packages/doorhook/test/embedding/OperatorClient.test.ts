/**
 * The client of the operator API in both forms: in the embedding process, and over HTTP as on the command line.
 */
import { assert, describe } from "@effect/vitest"
import type { OperatorClient } from "doorhook"
import { DoorhookError } from "doorhook"
import { Effect } from "effect"
import { makeHttpCalls } from "../../src/embed/OperatorCalls.ts"
import { makeOperatorClient } from "../../src/embed/OperatorClient.ts"
import { event, live, startIntegrated, untilInState } from "../harness/Embedded.ts"

const acme = { id: "acme", name: "Acme", redirect_uris: ["https://acme.example/cb"] }
const publicClient = { ...acme, id: "public", confidential: false }

type Case = readonly [name: string, call: (api: OperatorClient) => Promise<unknown>]

/** The cases run in this order, because later calls depend on earlier ones. */
const cases: ReadonlyArray<Case> = [
  [
    "integrations.set",
    (api) => api.integrations.set(1, { overrides: { acknowledge: "2xx", retry: { call: ["1s"] } } })
  ],
  ["deliveries.list", (api) => api.deliveries.list()],
  [
    "a list with all options",
    (api) => api.deliveries.list({ state: ["exhausted", "pending"], order: "newest", limit: 1 })
  ],
  [
    "a filter that matches nothing",
    (api) => api.deliveries.list({ event_id: "evt_0000000000000000", integration_id: 7 })
  ],
  ["an invalid state", (api) => api.deliveries.list({ state: "exhausted&limit=1" })],
  ["two problems", (api) => api.deliveries.list({ limit: 0, after: "x" })],
  ["an unknown option", (api) => Reflect.apply(api.deliveries.list, null, [{ limits: 1, offset: 2 }])],
  ["deliveries.show", (api) => api.deliveries.show("dlv_1")],
  ["an unknown delivery", (api) => api.deliveries.show("dlv_999")],
  ["a malformed delivery id", (api) => api.deliveries.show("dlv_1/resend?x#y;%2e")],
  ["deliveries.summary", (api) => api.deliveries.summary()],
  ["deliveries.resend", (api) => api.deliveries.resend("dlv_999")],
  ["deliveries.recover", (api) => api.deliveries.recover(999, new Date(0))],
  ["an invalid time", (api) => api.deliveries.recover("1", "yesterday")],
  ["integrations.list", (api) => api.integrations.list({ status: "enabled" })],
  ["integrations.show", (api) => api.integrations.show(1)],
  ["an invalid change", (api) => Reflect.apply(api.integrations.set, null, ["1", { status: "on", x: 1 }])],
  [
    "a change that is too large",
    (api) => api.integrations.set(1, { overrides: { allow_targets: ["x".repeat(20_000)] } })
  ],
  [
    "a change that JSON can't represent",
    (api) => Reflect.apply(api.integrations.set, null, [1, { status: new Set() }])
  ],
  ["integrations.probe", (api) => api.integrations.probe("1")],
  ["clients.add", (api) => api.clients.add(acme)],
  ["a public client", (api) => api.clients.add(publicClient)],
  ["an existing client", (api) => api.clients.add(acme)],
  ["invalid clients", (api) => api.clients.add({ name: "", redirect_uris: ["http://evil.example/"] })],
  ["clients.rotate", (api) => api.clients.rotate("acme", { overlap: "1h" })],
  ["an invalid overlap", (api) => api.clients.rotate("acme", { overlap: "soon" })],
  ["a public client's secret", (api) => api.clients.rotate("public")],
  ["clients.list", (api) => api.clients.list()],
  ["clients.remove", (api) => api.clients.remove("acme")],
  ["a deleted client", (api) => api.clients.remove("acme")],
  ["the end of the public client", (api) => api.clients.remove("public")],
  ["grants.list", (api) => api.grants.list("admin")],
  ["a user that can't be stored", (api) => api.grants.list("a\0b")],
  ["grants.revoke", (api) => api.grants.revoke("nobody", { client: "c1" })],
  ["a grant that can't be stored", (api) => api.grants.revoke("a\0b")],
  ["notifications.list", (api) => api.notifications.list({ order: "newest", integration_id: "1" })],
  ["an invalid limit", (api) => api.notifications.list({ limit: 1.5 })],
  ["portalLink", (api) => api.portalLink("1", { expiresIn: "1h" })],
  ["an overlong lifetime", (api) => api.portalLink("1", { expiresIn: "2d" })],
  ["sendTestEvent", (api) => api.sendTestEvent("7")],
  ["rotatePortalSecret", (api) => api.rotatePortalSecret()]
]

/** Masks secrets and times, which differ between calls. */
const masked = (value: unknown): unknown =>
  value === undefined
    ? undefined
    : JSON.parse(
        JSON.stringify(value)
          .replaceAll(/dh_cs_[\w-]+/g, "secret")
          .replaceAll(/\/portal\/open\/[\w.-]+/g, "/portal/open/token")
          .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "time")
      )

const outcomeOf = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    return { answer: masked(await call) }
  } catch (error) {
    assert.instanceOf(error, DoorhookError)
    if (!(error instanceof DoorhookError)) throw error
    const { code, message, status } = error
    return { code, message, status }
  }
}

describe("the client of the operator API", () => {
  live("returns and rejects the same in the process and over HTTP", function* () {
    const { doorhook, url } = yield* startIntegrated(
      { retry: { access_log: [] }, logger: false, publicUrl: "https://doors.example" },
      () => 500
    )
    yield* Effect.promise(() => doorhook.publish(event))
    yield* untilInState(doorhook, "exhausted")
    const remote = makeOperatorClient(makeHttpCalls(url, doorhook.operatorKey))
    yield* Effect.promise(async () => {
      const within: Array<unknown> = []
      for (const [, call] of cases) within.push(await outcomeOf(call(doorhook)))
      for (const [at, [name, call]] of cases.entries()) {
        assert.deepStrictEqual(within[at], await outcomeOf(call(remote)), name)
      }
    })
  })
})
