/**
 * Helpers shared by the tests of the sender.
 */
import { AddressPolicy, Transport } from "@doorhook/core"
import type { TransportRequest } from "@doorhook/core"
import { Effect, Option } from "effect"

export const networks = (...texts: ReadonlyArray<string>): AddressPolicy.AllowList =>
  texts.map((text) => Option.getOrThrow(AddressPolicy.parseNetwork(text)))

export const loopback = networks("127.0.0.0/8")

/** Posts a request that has test secrets in every part that can contain secrets. */
export const post = Effect.fnUntraced(function* (url: string, overrides: Partial<TransportRequest> = {}) {
  const transport = yield* Transport
  return yield* transport
    .post({
      url,
      headers: { "content-type": "application/json", "webhook-id": "evt_1", "x-secret": "header-secret" },
      body: '{"event":"body-secret"}',
      deadline: 5_000,
      allow: loopback,
      client: "client",
      ...overrides
    })
    .pipe(
      Effect.catchTags({
        TransportUnavailable: ({ message }) =>
          Effect.succeed({ _tag: "Unavailable" as const, detail: message, elapsed: 0 }),
        TransportBusy: ({ message }) => Effect.succeed({ _tag: "Busy" as const, detail: message, elapsed: 0 })
      })
    )
})

/** The result of a request, or why it could not be sent. */
export type Posted = Effect.Success<ReturnType<typeof post>>

/** Returns the answer's status, or the kind of failure. */
export const outcomeOf = (result: Posted) => {
  if (result._tag === "Unavailable") return "unavailable"
  if (result._tag === "Busy") return "busy"
  return result._tag === "Failed" ? result.outcome : result.status
}

export const detailOf = (result: Posted) => (result._tag === "Answered" ? null : result.detail)
