/**
 * What a run in real time goes against: a service, one real receiver, or modelled receivers.
 */
import { CommandFailure, Crypto, Transport, UrlPolicy } from "@doorhook/core"
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import type { Scope } from "effect"
import type { HttpClient } from "effect/http"
import { IpNetwork } from "effect/net"
import { child, Rng, root } from "../random/Substream.ts"
import { Receiver } from "../receivers/Receiver.ts"
import { describedFor, modelFor, undescribed } from "../receivers/ReceiverText.ts"
import type { Measurements } from "../results/Measurements.ts"
import type { Findings } from "../results/RunReport.ts"
import { Accounting } from "../run/Accounting.ts"
import { Equipment } from "../run/Equipment.ts"
import type { AcceptedEvent, Service, Target } from "../run/OperatorApi.ts"
import { serviceTarget } from "../run/OperatorApi.ts"
import type { OwnEngineOptions } from "../run/OwnEngine.ts"
import { ownEngine } from "../run/OwnEngine.ts"
import type { Course } from "../run/Run.ts"
import { momentAt } from "../world/LocalDay.ts"
import type { RunSettings } from "./ReadRun.ts"

/** A run in real time that is ready to begin. */
export interface Against {
  /** What the report calls it. */
  readonly name: string
  readonly target: Target<HttpClient.HttpClient>
  readonly accepted?: (events: ReadonlyArray<AcceptedEvent>) => void
  /** Waits until everything has ended, or for as long as given, in milliseconds. */
  readonly settle: (grace: number) => Effect.Effect<void, never, HttpClient.HttpClient>
  readonly judged: () => Pick<Findings, "lost" | "broken" | "violations">
  /** Why it is not known what became of the events; null when it is. */
  readonly silence: () => string | null
}

/** It publishes, and reads from the service what became of each event. */
export const againstService = (service: Service, measurements: Measurements, course: Course): Against => {
  const accounting = new Accounting(service, measurements, course.timeOf)
  const target = serviceTarget(service)
  let lost: number | null = null
  let silence: string | null = "the run did not come to reading it"
  return {
    name: `against ${service.url}`,
    target: {
      ...target,
      greet: Effect.flatMap(target.greet, (answer) =>
        answer._tag === "Accepted"
          ? Effect.map(accounting.begin(), (denial) => denial ?? answer)
          : Effect.succeed(answer)
      )
    },
    accepted: (events) => accounting.accepted(events),
    settle: (grace) =>
      Effect.map(accounting.settle(grace), ({ missing, why }) => {
        lost = why === null ? missing : null
        silence = why
      }),
    judged: () => ({ lost, broken: 0, violations: [] }),
    silence: () => silence
  }
}

/** Naming a receiver on the command line allows its address, wherever it is. */
const anywhere = ["0.0.0.0/0", "::/0"].map(IpNetwork.fromStringUnsafe)

/** With the engine in this process: the ledger beside it knows what became of each event. */
const againstOwn = Effect.fnUntraced(function* (
  { ackTimeout, integrations, retry, seed }: RunSettings,
  options: Pick<OwnEngineOptions, "urlOf" | "receiverOf" | "send" | "secret" | "crypto">,
  measurements: Measurements,
  course: Course,
  name: string
): Effect.fn.Return<Against, never, Scope.Scope> {
  const { finish, ledger, target } = yield* ownEngine({
    ...options,
    measurements,
    integrations,
    settings: { ackTimeout, retry, allow: anywhere },
    seed: child(root(seed), "run"),
    timeOf: course.timeOf
  })
  return {
    name,
    target,
    settle: (grace) =>
      Effect.sync(() => ledger.open === 0).pipe(
        Effect.repeat({ until: (isOver) => isOver, schedule: Schedule.spaced("20 millis") }),
        Effect.timeoutOption(grace),
        // An ended wait is judged all the same.
        Effect.ensuring(finish)
      ),
    judged: () => ({ lost: ledger.brokenIn("nothing-lost"), broken: ledger.broken, violations: ledger.violations }),
    silence: () => null
  }
})

const againstReceiver = Effect.fnUntraced(function* (
  settings: RunSettings,
  { secret, url }: Extract<RunSettings["target"], { readonly kind: "receiver" }>,
  measurements: Measurements,
  course: Course
) {
  const equipment = yield* Equipment
  if (equipment === null)
    return yield* CommandFailure.usage("--to-receiver: this program has no way out to the network")
  // It stays open until the session's scope is closed.
  const transport = Context.get(yield* Layer.build(equipment.transport), Transport)
  // Each integration is known by its URL; what comes after # never leaves this process.
  const send: OwnEngineOptions["send"] = (request) =>
    Effect.map(transport.post({ ...request, url: request.url.replace(/#.*$/, "") }), (result) => ({
      result,
      processed: null
    }))
  const options = { secret, send, crypto: equipment.crypto, receiverOf: () => undescribed }
  const urlOf: OwnEngineOptions["urlOf"] = ({ place }) => `${url}#${place}`
  const name = `against ${UrlPolicy.shownUrl(new URL(url))}`
  return yield* againstOwn(settings, { ...options, urlOf }, measurements, course, name)
})

/** Receivers answer by their rules, after as long as these say. */
const againstModels = (settings: RunSettings, measurements: Measurements, course: Course) => {
  const stream = child(root(settings.seed), "receivers")
  const all = new Map(
    settings.integrations.map(({ place }) => [
      place,
      new Receiver(modelFor(settings.receivers, place), new Rng(child(stream, place)))
    ])
  )
  const send: OwnEngineOptions["send"] = Effect.fnUntraced(function* ({ deadline }, { place, zone }) {
    const receiver = all.get(place)
    if (receiver === undefined) return yield* Effect.die(new Error(`integration ${place} has no receiver`))
    const now = yield* Clock.currentTimeMillis
    const sinceStart = course.timeOf(now)
    const local = momentAt(course.beginning + sinceStart, zone)
    const reception = receiver.receive({ now, sinceStart, deadline, local })
    yield* Effect.sleep(reception.result.elapsed)
    return reception
  })
  const options: Parameters<typeof againstOwn>[1] = {
    urlOf: ({ place }) => `https://receiver${place}.example/hook`,
    receiverOf: ({ place }) => describedFor(settings.receivers, place),
    send,
    secret: null,
    crypto: Crypto.layerWebCrypto
  }
  return againstOwn(settings, options, measurements, course, "against modelled receivers, the engine in this process")
}

export const against = (
  settings: RunSettings,
  measurements: Measurements,
  course: Course
): Effect.Effect<Against, CommandFailure, Scope.Scope> => {
  const { target } = settings
  if (target.kind === "service") return Effect.succeed(againstService(target.service, measurements, course))
  return target.kind === "receiver"
    ? againstReceiver(settings, target, measurements, course)
    : againstModels(settings, measurements, course)
}
