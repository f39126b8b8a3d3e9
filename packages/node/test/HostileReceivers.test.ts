/**
 * What the sender makes of receivers that misbehave: the right outcome, in time, and nothing left behind.
 */
import { assert, describe, it } from "@effect/vitest"
import { Acknowledgement, AddressPolicy, maxExcerptLength, Transport } from "@doorhook/core"
import type { TransportRequest, TransportResult } from "@doorhook/core"
import { UndiciTransport } from "@doorhook/node"
import { Effect, Option } from "effect"
import { onHttp, onHttps } from "./hostile/Catalogue.ts"
import type { HostileReceiver } from "./hostile/Catalogue.ts"
import { makeAuthority } from "./hostile/Certificates.ts"
import { onRequest, ok, serve } from "./hostile/RawReceiver.ts"
import type { RawReceiver } from "./hostile/RawReceiver.ts"

const authority = makeAuthority()
const transport = UndiciTransport.layer({ authorities: [authority.cert] })

const loopback = [Option.getOrThrow(AddressPolicy.parseNetwork("127.0.0.0/8"))]
const deadline = 200
/** How late a timer may fire on a machine that is busy, in milliseconds. */
const slack = 250

const post = Effect.fnUntraced(function* (url: string, overrides: Partial<TransportRequest> = {}) {
  const transport = yield* Transport
  return yield* transport.post({
    url,
    headers: { "content-type": "application/json", "x-secret": "header-secret" },
    body: "body-secret",
    deadline,
    allow: loopback,
    ...overrides
  })
})

const serveHostile = ({ behave, scheme }: HostileReceiver) => serve(behave, { scheme })

const assertReported = (result: TransportResult, hostile: HostileReceiver) => {
  assert.strictEqual(Acknowledgement.judge(result, deadline, "200"), hostile.outcome)
  if (result._tag === "Answered") return assert.isAtMost(Buffer.byteLength(result.excerpt), maxExcerptLength)
  assert.match(result.detail, hostile.detail ?? /^no detail expected$/)
  assert.notMatch(result.detail, /secret|[\u0000-\u001f]| at |undici|openssl|node:/i)
  return assert.isAtMost(result.detail.length, 500)
}

const assertInTime = ({ elapsed }: TransportResult, { known }: HostileReceiver) => {
  if (known === "at the deadline") assert.isAtLeast(elapsed, deadline - 5)
  assert.isAtMost(elapsed, known === "at the deadline" ? deadline + slack : deadline - 1)
}

/** What keeps the process alive: sockets, timers, look-ups. */
const resources = () => process.getActiveResourcesInfo().toSorted()

const allClosed = (receiver: RawReceiver) => Effect.promise(receiver.allClosed)

describe("UndiciTransport against hostile receivers", () => {
  for (const hostile of [...onHttp, ...onHttps(authority)]) {
    it.live(`${hostile.name}: ${hostile.outcome} ${hostile.known}`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const receiver = yield* serveHostile(hostile)
          const result = yield* post(receiver.url)
          assertReported(result, hostile)
          assertInTime(result, hostile)
          // A second one finds nothing of the first.
          assertReported(yield* post(receiver.url), hostile)
          if (hostile.outcome !== "acknowledged") yield* allClosed(receiver)
        }).pipe(Effect.provide(transport))
      )
    )
  }
})
