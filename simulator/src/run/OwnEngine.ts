/**
 * The real delivery engine in this process and in real time, for runs without a service. It uses a store in memory, and
 * delivers to modelled receivers or to one real receiver.
 */
import type {
  Crypto,
  DeliverySettingsShape,
  IntegrationId,
  ResourceTypeTable,
  TransportRequest,
  TransportResult,
  TransportBusy
} from "@doorhook/core"
import {
  Acknowledgement,
  MemoryStore,
  Publisher,
  Signature,
  Transport,
  TransportUnavailable,
  WakeSignal
} from "@doorhook/core"
import { Cause, Clock, Effect, Layer, References } from "effect"
import type { Redacted } from "effect"
import type { Substream } from "../random/Substream.ts"
import type { ReceiverDescription } from "../receivers/ReceiverText.ts"
import { Ledger } from "../results/Ledger.ts"
import type { IntegrationTotals, Measurements } from "../results/Measurements.ts"
import { engineLayer, storesOf } from "./EngineLayer.ts"
import { newEventOf } from "./Load.ts"
import type { Answer, Target } from "./OperatorApi.ts"
import { ledgerStore } from "./LedgerStore.ts"
import type { PlannedIntegration } from "./Integrations.ts"
import { integrationOf, Matcher } from "./Integrations.ts"

/** Result of a request, and whether the receiver processed the event (null if unknown). */
interface Sent {
  readonly result: TransportResult
  readonly processed: boolean | null
}

export interface OwnEngineOptions {
  readonly measurements: Measurements
  readonly integrations: ReadonlyArray<PlannedIntegration>
  /** Returns the URL for an integration's events. */
  readonly urlOf: (integration: PlannedIntegration) => string
  /** Returns the description of the receiver for the report. */
  readonly receiverOf: (integration: PlannedIntegration) => ReceiverDescription
  readonly send: (
    request: TransportRequest,
    integration: PlannedIntegration
  ) => Effect.Effect<Sent, TransportUnavailable | TransportBusy>
  /** Signing secret for all integrations. With null, each integration has its own. */
  readonly secret: Redacted.Redacted<string> | null
  readonly types: ResourceTypeTable
  readonly settings: Partial<DeliverySettingsShape> & Pick<DeliverySettingsShape, "retry" | "ackTimeout">
  readonly seed: Substream
  /** Returns the position of an instant on the report's axis, in milliseconds since the beginning. */
  readonly timeOf: (instant: number) => number
  readonly crypto: Layer.Layer<Crypto>
}

interface OwnEngine {
  readonly target: Target
  readonly ledger: Ledger
  /** Checks the deliveries at the end of the run. */
  readonly finish: Effect.Effect<void>
}

/** Maximum time between an action of the sender and its record in the ledger, in milliseconds. */
const tolerance = 500

interface Recipient {
  readonly id: IntegrationId
  readonly planned: PlannedIntegration
  readonly totals: IntegrationTotals
}

/** Starts an engine for as long as the scope lives. */
export const ownEngine = Effect.fnUntraced(function* (options: OwnEngineOptions) {
  const { crypto, integrations, measurements, receiverOf, secret, seed, send, settings, timeOf, types, urlOf } = options
  const stores = yield* storesOf(MemoryStore.layer)
  const ledger = new Ledger({
    measurements,
    timeOf,
    retry: settings.retry,
    ackTimeout: settings.ackTimeout,
    tolerance,
    slack: null
  })
  const matcher = new Matcher()
  const byId = new Map<IntegrationId, Recipient>()
  const byUrl = new Map<string, Recipient>()
  const now = yield* Clock.currentTimeMillis
  for (const planned of integrations) {
    const url = urlOf(planned)
    const { id } = yield* Effect.orDie(
      stores.integrations.create(integrationOf(planned.scope, url, seed, now, types, secret))
    )
    const recipient = { id, planned, totals: measurements.integration(id, planned.name, receiverOf(planned)) }
    byId.set(id, recipient)
    byUrl.set(url, recipient)
    matcher.add(planned.scope, id)
  }
  const totals = (id: IntegrationId) => byId.get(id)?.totals ?? measurements.integration(id, `integration ${id}`)
  let inFlight = 0
  let isOver = false

  const post = Effect.fnUntraced(function* (request: TransportRequest) {
    // Until the engine is closed, open deliveries would be sent without being counted.
    if (isOver) return yield* new TransportUnavailable({ message: "the run is over" })
    const recipient = byUrl.get(request.url)
    if (recipient === undefined) return yield* Effect.die(new Error(`no integration has the URL ${request.url}`))
    const { headers } = request
    const number = Number(headers[Signature.headerNames.attempt] ?? 0)
    const id = headers[Signature.headerNames.id] ?? ""
    const tracked = ledger.requested(recipient.id, id, number, yield* Clock.currentTimeMillis)
    inFlight++
    measurements.totals.most_in_flight = Math.max(measurements.totals.most_in_flight, inFlight)
    const { processed, result } = yield* send(request, recipient.planned).pipe(
      Effect.onError((cause) =>
        Effect.sync(() => {
          if (tracked === null) return
          // If the outbound connection fails, nothing was sent. If the request is interrupted, it was sent and has no
          // answer.
          if (Cause.hasInterrupts(cause)) ledger.cutOff(tracked)
          else ledger.unsent(tracked)
        })
      ),
      Effect.ensuring(
        Effect.sync(() => {
          inFlight--
        })
      )
    )
    const ended = yield* Clock.currentTimeMillis
    if (tracked !== null) {
      if (processed === true) ledger.processed(tracked, ended)
      ledger.responded(tracked, result, Acknowledgement.judge(result, request.deadline, "200"), ended)
    }
    return result
  })

  const deliveries = ledgerStore(stores.deliveries, stores.integrations, ledger, {
    matching: (event) => matcher.matching(event),
    totals,
    due: () => {},
    // There is no other process to inform.
    ended: () => {}
  })
  const ports = { stores: { ...stores, deliveries }, transport: yield* Transport.fromPost(post), settings, types }
  const engine = yield* Layer.build(Layer.fresh(engineLayer(ports, WakeSignal.layerLocal, crypto))).pipe(
    Effect.provideService(References.MinimumLogLevel, "None")
  )
  const publisher = yield* Effect.provide(Publisher, engine)

  const target: Target = {
    name: "the engine in this process",
    greet: Effect.succeed<Answer>({ _tag: "Accepted", deliveries: 0, events: [] }),
    publish: (events, key) =>
      publisher.publish(events.map(newEventOf), { key, fingerprint: key }).pipe(
        Effect.map((published): Answer => ({
          _tag: "Accepted",
          deliveries: published.reduce((sum, { deliveries }) => sum + deliveries, 0),
          events: published
        })),
        Effect.catchTag(
          ["StoreError", "KeyReused", "PublisherBusy", "PublisherClosed", "BeingMoved", "Misdirected"],
          ({ message }) => Effect.succeed<Answer>({ _tag: "Refused", status: 0, why: message })
        )
      )
  }
  const finish = Effect.gen(function* () {
    isOver = true
    const at = yield* Clock.currentTimeMillis
    // In real time, a stuck delivery looks the same as one in flight or in the queue, so all are accepted.
    ledger.finish(at, yield* Effect.orDie(stores.deliveries.summary(at)), Number.NEGATIVE_INFINITY)
  })
  return { target, ledger, finish } satisfies OwnEngine
})
