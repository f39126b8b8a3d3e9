/**
 * doorhook's sender and a receiver that fails in every way, over real connections.
 */
import { handlingReceiver, plainHeaders } from "@doorhook/testkit/Receiver"
import type { Handler, Received } from "@doorhook/testkit/Receiver"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Webhook } from "standardwebhooks"
import { event, live, mount, start, tokenFrom, untilInState } from "../harness/Embedded.ts"
import { createIntegration } from "../harness/ThirdParty.ts"

/** Answers one attempt in a way that does not acknowledge it. */
type Failure = (response: ServerResponse, socket: Socket) => void

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Failure =>
  (response) =>
    void response.writeHead(code, headers).end()

/** For each event, the failures of its attempts before the acknowledgement. */
const failures: ReadonlyArray<readonly [what: string, ...ReadonlyArray<Failure>]> = [
  ["acknowledged immediately"],
  ["500", status(500)],
  ["202", status(202)],
  ["204", status(204)],
  ["302", status(302, { location: "/elsewhere" })],
  ["307", status(307, { location: "/elsewhere" })],
  ["closed without an answer", (_, socket) => void socket.destroy()],
  ["never answered", () => undefined],
  ["404, then 503", status(404), status(503)]
]

describe("an event whose attempts fail", () => {
  live("is sent again with the same id and body, signed each time, until its first acknowledgement", function* () {
    const attempts = new Map<number, Array<Received>>()
    const handle: Handler = (received, response, socket) => {
      const { event: sent }: { readonly event: { readonly data: { readonly id: number } } } = JSON.parse(received.body)
      const known = attempts.get(sent.data.id) ?? []
      attempts.set(sent.data.id, known)
      const nth = known.push(received)
      const fail = failures[sent.data.id]?.slice(1)[nth - 1]
      if (typeof fail === "function") fail(response, socket)
      else response.end()
    }
    const receiver = yield* handlingReceiver(handle)
    const doorhook = yield* start({ ackTimeout: "1s", retry: { access_log: ["50ms", "100ms", "150ms"] } })
    const { url } = yield* mount(doorhook)
    const token = yield* tokenFrom(url)
    const { signing_secret } = yield* Effect.promise(() => createIntegration(url, token, receiver.url))
    yield* Effect.promise(() => Promise.all(failures.map((_, id) => doorhook.publish({ ...event, data: { id } }))))
    yield* untilInState(doorhook, "delivered", failures.length)

    for (const [id, [what, ...failed]] of failures.entries()) {
      const sent = attempts.get(id) ?? []
      assert.strictEqual(sent.length, failed.length + 1, what)
      const [first] = sent
      for (const [index, one] of sent.entries()) {
        const headers = plainHeaders(one)
        new Webhook(signing_secret).verify(one.body, headers)
        assert.strictEqual(headers["doorhook-attempt"], String(index + 1), what)
        assert.strictEqual(headers["webhook-id"], first?.headers["webhook-id"], what)
        assert.strictEqual(one.body, first?.body, what)
      }
    }
    assert.deepStrictEqual(
      [...new Set(receiver.received.map(({ path }) => path))],
      ["/hook"],
      "no redirect is followed"
    )
  })
})
