/**
 * Destination of a real-time run: a service, one real receiver, or modelled receivers.
 */
import { CommandFailure, Crypto, Transport, UrlPolicy } from "@doorhook/core"
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import type { Scope } from "effect"
import { IpNetwork } from "effect/net"
import { child, Rng, root } from "../random/Substream.ts"
import { describedFor, receiversOf, undescribed } from "../receivers/ReceiverText.ts"
import type { Measurements } from "../results/Measurements.ts"
import type { RunResult } from "../results/RunReport.ts"
import { DeliveryTracker } from "../run/DeliveryTracker.ts"
import type { AcceptedEvent, Service, Target } from "../run/OperatorApi.ts"
import { serviceTarget } from "../run/OperatorApi.ts"
import type { OwnEngineOptions } from "../run/OwnEngine.ts"
import { ownEngine } from "../run/OwnEngine.ts"
import type { RunClock } from "../run/Run.ts"
import { momentAt } from "../world/LocalDay.ts"
import type { RunSettings } from "./ReadRun.ts"

/**
 * Network access for sending to real receivers. The simulator depends only on core, so the program that mounts the
 * command provides the network, or null if it has none.
 */
interface EquipmentShape {
  /** Sends to real receivers. */
  readonly transport: Layer.Layer<Transport>
  readonly crypto: Layer.Layer<Crypto>
}

export const Equipment = Context.Reference<EquipmentShape | null>("@doorhook/simulator/Equipment", {
  defaultValue: () => null
})

export interface Destination {
  /** Name in the report. */
  readonly name: string
  readonly target: Target
  readonly accepted?: (events: ReadonlyArray<AcceptedEvent>) => void
  /** Waits until every delivery has ended, for at most `grace` milliseconds. */
  readonly settle: (grace: number) => Effect.Effect<void>
  readonly judged: () => Pick<RunResult, "lost" | "broken" | "violations">
  /** Why the outcome of the events is unknown; null when it is known. */
  readonly silence: () => string | null
}

/** Publishes to a service, and reads the deliveries of each event from the service. */
export const serviceDestination = (service: Service, measurements: Measurements, clock: RunClock): Destination => {
  const tracker = new DeliveryTracker(service, measurements, clock.timeOf)
  const target = serviceTarget(service)
  let lost: number | null = null
  let silence: string | null = "the run ended before its deliveries were read"
  return {
    name: `against ${service.url}`,
    target: {
      ...target,
      greet: Effect.flatMap(target.greet, (answer) =>
        answer._tag === "Accepted" ? Effect.map(tracker.begin(), (denial) => denial ?? answer) : Effect.succeed(answer)
      )
    },
    accepted: (events) => tracker.accepted(events),
    settle: (grace) =>
      Effect.map(tracker.settle(grace), ({ missing, why }) => {
        lost = why === null ? missing : null
        silence = why
      }),
    judged: () => ({ lost, broken: 0, violations: [] }),
    silence: () => silence
  }
}

/** A receiver named on the command line may have any address. */
export const anywhere = ["0.0.0.0/0", "::/0"].map(IpNetwork.fromStringUnsafe)

/** Delivers with an engine in this process. A ledger records and checks each delivery. */
const ownEngineDestination = Effect.fnUntraced(function* (
  { ackTimeout, integrations, retry, seed, types }: RunSettings,
  options: Pick<OwnEngineOptions, "urlOf" | "receiverOf" | "send" | "secret" | "crypto">,
  measurements: Measurements,
  clock: RunClock,
  name: string
): Effect.fn.Return<Destination, never, Scope.Scope> {
  const { finish, ledger, target } = yield* ownEngine({
    ...options,
    measurements,
    integrations,
    types,
    settings: { ackTimeout, retry, allow: anywhere },
    seed: child(root(seed), "run"),
    timeOf: clock.timeOf
  })
  return {
    name,
    target,
    settle: (grace) =>
      Effect.sync(() => ledger.open === 0).pipe(
        Effect.repeat({ until: (isOver) => isOver, schedule: Schedule.spaced("20 millis") }),
        Effect.timeoutOption(grace),
        // The ledger is also checked if the wait is cut short.
        Effect.ensuring(finish)
      ),
    judged: () => ({ lost: ledger.brokenIn("nothing-lost"), broken: ledger.broken, violations: ledger.violations }),
    silence: () => null
  }
})

const receiverDestination = Effect.fnUntraced(function* (
  settings: RunSettings,
  { secret, url }: Extract<RunSettings["target"], { readonly kind: "receiver" }>,
  measurements: Measurements,
  clock: RunClock
) {
  const equipment = yield* Equipment
  if (equipment === null) return yield* CommandFailure.usage("--to-receiver: this program has no network transport")
  // The transport stays open until the session's scope is closed.
  const transport = Context.get(yield* Layer.build(equipment.transport), Transport)
  // The part after # identifies the integration, and is removed before sending.
  const send: OwnEngineOptions["send"] = (request) =>
    Effect.map(transport.post({ ...request, url: request.url.replace(/#.*$/, "") }), (result) => ({
      result,
      processed: null
    }))
  const options = { secret, send, crypto: equipment.crypto, receiverOf: () => undescribed }
  const urlOf: OwnEngineOptions["urlOf"] = ({ place }) => `${url}#${place}`
  const name = `against ${UrlPolicy.shownUrl(new URL(url))}`
  return yield* ownEngineDestination(settings, { ...options, urlOf }, measurements, clock, name)
})

const modelledDestination = (settings: RunSettings, measurements: Measurements, clock: RunClock) => {
  const stream = child(root(settings.seed), "receivers")
  const receiverOf = receiversOf(settings.receivers, (name) => new Rng(child(stream, name)))
  const all = new Map(settings.integrations.map(({ place }) => [place, receiverOf(place, `${place}`)]))
  const send: OwnEngineOptions["send"] = Effect.fnUntraced(function* ({ deadline }, { place, zone }) {
    const receiver = all.get(place)
    if (receiver === undefined) return yield* Effect.die(new Error(`integration ${place} has no receiver`))
    const now = yield* Clock.currentTimeMillis
    const sinceStart = clock.timeOf(now)
    const local = momentAt(clock.beginning + sinceStart, zone)
    const reception = receiver.receive({ now, sinceStart, deadline, local })
    yield* Effect.sleep(reception.result.elapsed)
    return reception
  })
  const options: Parameters<typeof ownEngineDestination>[1] = {
    urlOf: ({ place }) => `https://receiver${place}.example/hook`,
    receiverOf: ({ place }) => describedFor(settings.receivers, place),
    send,
    secret: null,
    crypto: Crypto.layerWebCrypto
  }
  return ownEngineDestination(
    settings,
    options,
    measurements,
    clock,
    "against modelled receivers, the engine in this process"
  )
}

export const destinationOf = (
  settings: RunSettings,
  measurements: Measurements,
  clock: RunClock
): Effect.Effect<Destination, CommandFailure, Scope.Scope> => {
  const { target } = settings
  if (target.kind === "service") return Effect.succeed(serviceDestination(target.service, measurements, clock))
  return target.kind === "receiver"
    ? receiverDestination(settings, target, measurements, clock)
    : modelledDestination(settings, measurements, clock)
}
