/**
 * Hosts a receiver for a sender until enough was seen, and judges.
 */
import { Crypto } from "@doorhook/core"
import { Effect, Schedule } from "effect"
import type { Redacted } from "effect"
import { host } from "./Host.ts"
import type { CannotListen } from "./Host.ts"
import * as SenderReport from "./SenderReport.ts"
import { checkSignatures } from "./SenderRequirements.ts"
import { plan } from "./Treatment.ts"

export interface SenderOptions {
  readonly host: string
  readonly port: number
  readonly secret: Redacted.Redacted<string> | null
  /** What the sender should wait for an answer, in milliseconds. */
  readonly deadline: number
  /** How long nothing must come, once all is acknowledged, until that is believed; in milliseconds. */
  readonly quiet: number
  readonly maxTime: number
  /** Gets the URL to send to, once the host listens. Events may be published from here. */
  readonly listening: (url: string, events: number) => Effect.Effect<void>
}

/** How many events there must be, for every case. */
export const eventsNeeded = plan.length

/**
 * What can't be decided around the deadline, in milliseconds: a busy machine sees a request late, and the longer one waits, the
 * more of that there is. Half of what a slow answer leaves (`Treatment.ts`).
 */
const guardOf = (deadline: number): number => Math.max(250, deadline / 10)

/** Fails only when it can't listen. */
export const runSender = (options: SenderOptions): Effect.Effect<SenderReport.SenderReport, CannotListen> =>
  Effect.gen(function* () {
    const { deadline, maxTime, quiet, secret } = options
    const receiver = yield* host(options)
    yield* options.listening(receiver.url, eventsNeeded)
    const isDone = (): boolean =>
      receiver.events() >= eventsNeeded && receiver.allAcknowledged() && receiver.quietFor() >= quiet
    // When the time is up, what was seen until then is judged.
    yield* Effect.sync(isDone).pipe(
      Effect.repeat({ until: (done) => done, schedule: Schedule.spaced(50) }),
      Effect.timeoutOption(maxTime)
    )
    const observation = receiver.observation()
    return SenderReport.make(observation, yield* checkSignatures(observation, secret), {
      deadline,
      guard: guardOf(deadline)
    })
  }).pipe(Effect.scoped, Effect.provide(Crypto.layerWebCrypto))
