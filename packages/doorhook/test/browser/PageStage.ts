/**
 * A setup for tests of the pages: an embedded doorhook on its own server, an owner with a building and a rented unit,
 * good and faulty receivers, and an integration for each receiver.
 */
import { Effect } from "effect"
import { createServer } from "node:http"
import { setTimeout as pause } from "node:timers/promises"
import { listening } from "@doorhook/testkit/ListeningServer"
import type { Received } from "@doorhook/testkit/Receiver"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { directory, start, tokenFrom } from "../harness/Embedded.ts"
import { createIntegration } from "../harness/ThirdParty.ts"

export const operatorKey = "the-operator-of-these-tests-0123456789"

/** A receiver's answer with markup that pages must escape. */
export const hostile = `</pre><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">{"error":"no such door"}`

/** The owner's login and password. */
export const owner = { login: "admin", password: "right" } as const

/** The owner's data in the host's directory. */
const pagesDirectory = {
  ...directory,
  isTenant: (user: string, tenant: number) => user === owner.login && tenant === 101,
  buildings: (user: string) =>
    user === owner.login
      ? [{ id: 1, name: "North Tower", time_zone: "Europe/Berlin", access_points: [{ id: 11, name: "Front door" }] }]
      : [],
  tenants: (user: string) => (user === owner.login ? [{ id: 101, building_id: 1, unit: { id: 7, label: "4B" } }] : [])
}

/** The answers of each receiver, by its path. `nth` is the number of the request to this path, starting at 1. */
const tempers: Readonly<Record<string, (nth: number) => readonly [status: number, body: string]>> = {
  "/good": () => [200, "taken"],
  "/flaky": (nth) => (nth % 3 === 0 ? [503, "busy, come back later"] : [200, "taken"]),
  "/broken": () => [500, hostile],
  "/gone": (nth) => (nth === 1 ? [410, "nobody lives here"] : [200, "back again"]),
  "/moody": (nth) => (nth === 1 ? [500, hostile] : [200, "taken"])
}

/**
 * Texts that come from receivers: the error they answer with, and their URL's query. Both contain HTML in tests, but
 * not in screenshots.
 */
interface Wording {
  readonly complaint: string
  readonly query: string
}
const malicious: Wording = { complaint: hostile, query: "?<img/src=x/onerror=window.hacked=1>" }
export const harmless: Wording = { complaint: '{"error":"no such door","door":11}', query: "" }

/** Returns the path of a request, without its query. */
const placeOf = ({ path }: Received): string => path.split("?")[0] ?? ""

/** Starts doorhook and the receivers. `integrations` maps the path of each receiver to the id of its integration. */
export const openPageStage = Effect.fnUntraced(function* ({ complaint, query }: Wording = malicious) {
  const calls = new Map<string, number>()
  const receiver = yield* startReceiver((received) => {
    const place = placeOf(received)
    const nth = (calls.get(place) ?? 0) + 1
    calls.set(place, nth)
    const [status, text] = tempers[place]?.(nth) ?? [404, "no such path"]
    return { status, headers: { "content-type": "text/html" }, body: text === hostile ? complaint : text }
  })
  const server = createServer()
  const { url } = yield* listening(server)
  const doorhook = yield* start({
    publicUrl: url,
    operatorKey,
    directory: pagesDirectory,
    retry: { access_log: ["1s", "1h"] }
  })
  server.on("request", doorhook.node)
  const token = yield* tokenFrom(url)
  const integrations: Record<string, string> = {}
  const integrate = async (path: string, types: ReadonlyArray<string> = ["access_log"]) => {
    const { id } = await createIntegration(url, token, `${receiver.origin}${path}${query}`, types)
    return (integrations[path] = id)
  }
  return {
    doorhook,
    url,
    integrations,
    integrate,
    /** Returns the bodies of the requests to a receiver's path. */
    bodiesAt: (path: string) => receiver.received.filter((one) => placeOf(one) === path).map(({ body }) => body),
    /** Publishes `count` events with names that pages must escape. */
    publish: (count: number) =>
      doorhook.publish(
        Array.from({ length: count }, (_, index) => ({
          resource_type: "access_log" as const,
          action: "create" as const,
          building_id: 1,
          data: { id: index + 1, name: `</pre><script>window.hacked = 1</script>` }
        }))
      ),
    /** Waits until a delivery to an integration is in a state, and returns the id of that delivery. */
    until: async (id: string, state: string) => {
      for (;;) {
        const { deliveries } = await doorhook.deliveries.list({ integration_id: id, state, limit: 1 })
        if (deliveries[0] !== undefined) return deliveries[0].id
        await pause(20)
      }
    }
  }
})
