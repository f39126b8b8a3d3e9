/**
 * A simulated network between the engine and modelled receivers, and the integrations whose URLs lead to these
 * receivers.
 */
import type {
  DeliverySettingsShape,
  Event,
  Integration,
  IntegrationId,
  TransportRequest,
  TransportResult
} from "@doorhook/core"
import { Acknowledgement, builtInTypes, laneOf, concurrencyFor, Signature, Transport } from "@doorhook/core"
import type { Process } from "../clock/Process.ts"
import type { VirtualTime } from "../clock/VirtualTime.ts"
import { child, Rng } from "../random/Substream.ts"
import type { Substream } from "../random/Substream.ts"
import type { Receiver } from "../receivers/Receiver.ts"
import { describedFor, receiversOf } from "../receivers/ReceiverText.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import type { Ledger, Tracked } from "../results/Ledger.ts"
import type { IntegrationTotals, Measurements } from "../results/Measurements.ts"
import type { PlannedIntegration } from "../run/Integrations.ts"
import { Matcher } from "../run/Integrations.ts"
import { momentAt } from "../world/LocalDay.ts"

/** An integration with its receiver. */
export interface Target {
  readonly planned: PlannedIntegration
  readonly integration: Integration
  readonly receiver: Receiver
  readonly totals: IntegrationTotals
  /** Number of open requests to the receiver. */
  open: number
}

export interface NetworkOptions {
  readonly time: VirtualTime
  readonly seed: Substream
  readonly ledger: Ledger
  readonly measurements: Measurements
  readonly receivers: ReadonlyArray<ReceiverRule>
  readonly settings: Pick<DeliverySettingsShape, "concurrency" | "concurrencyPerIntegration">
  readonly workers: number
  /** Processor time that a process needs for one request, in milliseconds. */
  readonly cpu: number
  /** Beginning of the run, in milliseconds since the epoch. */
  readonly beginning: number
  /** Called when a request has begun, with the time until its end in milliseconds. */
  readonly begun: (process: Process, elapsed: number) => void
}

interface OpenRequest {
  readonly target: Target
  readonly tracked: Tracked | null
}

/** Retries may have to wait once this share of all slots is in use. */
const busyShare = 0.4

export class Network {
  readonly #options: NetworkOptions
  readonly #matcher = new Matcher()
  readonly #byUrl = new Map<string, Target>()
  readonly #byId = new Map<IntegrationId, Target>()
  /** Open requests of each process. */
  readonly #openBy = new Map<number, Set<OpenRequest>>()
  #open = 0
  /** Virtual time until which the processor of each process is busy. */
  readonly #busyUntil = new Map<number, number>()
  /** Number of an integration's slots that retries may use in one process. */
  readonly #retryPlaces: number
  readonly #receiverOf: (place: number, url: string) => Receiver

  constructor(options: NetworkOptions) {
    this.#options = options
    const share = Math.floor(options.settings.concurrencyPerIntegration / options.workers)
    this.#retryPlaces = concurrencyFor(laneOf(builtInTypes.access_log, 1), share)
    const stream = child(options.seed, "receiver")
    this.#receiverOf = receiversOf(options.receivers, (name) => new Rng(child(stream, name)))
  }

  /** Targets whose integrations still exist. */
  get targets(): ReadonlyArray<Target> {
    return [...this.#byId.values()]
  }

  add(planned: PlannedIntegration, integration: Integration): void {
    const { measurements, receivers } = this.#options
    const { id, configuration } = integration
    const target: Target = {
      planned,
      integration,
      receiver: this.#receiverOf(planned.place, configuration.url),
      totals: measurements.integration(id, planned.name, describedFor(receivers, planned.place)),
      open: 0
    }
    this.#byUrl.set(configuration.url, target)
    this.#byId.set(id, target)
    this.#matcher.add(planned.scope, id)
  }

  remove({ integration, planned }: Target): void {
    this.#byId.delete(integration.id)
    this.#matcher.remove(planned.scope, integration.id)
  }

  readonly matching = (event: Event): ReadonlySet<IntegrationId> => this.#matcher.matching(event)

  readonly totals = (id: IntegrationId): IntegrationTotals =>
    this.#byId.get(id)?.totals ?? this.#options.measurements.integration(id, `integration ${id}`)

  /** Returns the transport of a process. */
  transportOf(process: Process): Transport["Service"] {
    this.#openBy.set(process.number, new Set())
    return Transport.make({
      send: (request, done) => {
        let isOpen = true
        this.#afterWork(process, () => {
          if (!isOpen) return
          this.#carry(process, request, (result) => {
            if (isOpen) done(result)
          })
        })
        return () => {
          isOpen = false
        }
      }
    })
  }

  /** Sends a request once the processor of a process has done its earlier work and that for this request. */
  #afterWork(process: Process, send: () => void): void {
    const { cpu, ledger, time } = this.#options
    if (cpu === 0) return send()
    const until = Math.max(time.now, this.#busyUntil.get(process.number) ?? 0) + cpu
    this.#busyUntil.set(process.number, until)
    const wait = Math.floor(until) - time.now
    if (wait <= 0) return send()
    ledger.busy(time.wall + wait)
    time.after(wait, () => {
      if (process.alive) send()
    })
  }

  /** Cuts off the open requests of a process that died. */
  cutOff(process: Process): void {
    for (const { target, tracked } of this.#openBy.get(process.number) ?? []) {
      this.#open--
      target.open--
      if (tracked !== null) this.#options.ledger.cutOff(tracked)
    }
    this.#openBy.delete(process.number)
  }

  /** Carries a request to its receiver, and the answer back to the process unless it has died. */
  #carry(process: Process, request: TransportRequest, done: (result: TransportResult) => void): void {
    const { beginning, begun, ledger, measurements, time } = this.#options
    const { deadline, headers, url } = request
    const target = this.#byUrl.get(url)
    const own = this.#openBy.get(process.number)
    if (target === undefined || own === undefined) return
    const now = time.wall
    this.#noteBusy(target, now)
    const attempt = Number(headers[Signature.headerNames.attempt] ?? 0)
    const tracked = ledger.requested(target.integration.id, headers[Signature.headerNames.id] ?? "", attempt, now)
    const open: OpenRequest = { target, tracked }
    own.add(open)
    target.open++
    this.#open++
    measurements.totals.most_in_flight = Math.max(measurements.totals.most_in_flight, this.#open)
    const local = momentAt(now, target.planned.zone)
    const { processed, result } = target.receiver.receive({ now, sinceStart: now - beginning, deadline, local })
    if (processed && tracked !== null) ledger.processed(tracked, now)
    time.after(result.elapsed, () => {
      if (!process.alive) return
      const ended = time.wall
      this.#noteBusy(target, ended)
      own.delete(open)
      target.open--
      this.#open--
      if (tracked !== null) ledger.responded(tracked, result, Acknowledgement.judge(result, deadline, "200"), ended)
      done(result)
    })
    begun(process, result.elapsed)
  }

  /**
   * Marks the time until now as busy in the ledger if a retry may have had to wait for a slot. Called before a request
   * opens or closes.
   */
  #noteBusy(target: Target, now: number): void {
    const { ledger, settings } = this.#options
    if (target.open >= this.#retryPlaces || this.#open >= busyShare * settings.concurrency) ledger.busy(now)
  }
}
