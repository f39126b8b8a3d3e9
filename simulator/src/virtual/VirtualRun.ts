/**
 * `simulate run --virtual`: months of traffic for modelled receivers, delivered by the real engine in processes that
 * die and restart.
 *
 * While no work is in progress and nothing is due, the machine sleeps: the wall clock advances, but the engine's timers
 * don't. The next due time wakes the machine. Idle months therefore cost nothing. All random numbers come from the
 * seed, so the same options give the same run.
 */
import type { DeliverySettingsShape, NewEvent, ResourceTypeTable } from "@doorhook/core"
import {
  builtInTable,
  deliverySettingsOf,
  Retention,
  longestHold,
  MemoryStore,
  Publisher,
  PublisherBusy,
  rootMessage,
  StoreError
} from "@doorhook/core"
import { Cause, Effect, Exit, Layer, Result, Schema, Stream } from "effect"
import type { Process } from "../clock/Process.ts"
import { startOfTime, VirtualTime } from "../clock/VirtualTime.ts"
import { child, Rng, root } from "../random/Substream.ts"
import type { Substream } from "../random/Substream.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import { Ledger } from "../results/Ledger.ts"
import { Measurements } from "../results/Measurements.ts"
import type { EnginePorts, Stores } from "../run/EngineLayer.ts"
import { storesOf } from "../run/EngineLayer.ts"
import type { Arrival } from "../run/Load.ts"
import { newEventOf, storedSince } from "../run/Load.ts"
import { ledgerStore } from "../run/LedgerStore.ts"
import type { PlannedIntegration } from "../run/Integrations.ts"
import { integrationOf } from "../run/Integrations.ts"
import { Network } from "./Network.ts"
import type { Engine } from "./World.ts"
import { World } from "./World.ts"

/** All times in milliseconds. */
export interface VirtualOptions {
  readonly seed: number
  /** Length of the warm-up, whose latencies are left out. */
  readonly warmUp?: number
  /** Time of the beginning of the run, since the epoch. */
  readonly beginning: number
  readonly integrations: ReadonlyArray<PlannedIntegration>
  readonly receivers: ReadonlyArray<ReceiverRule>
  readonly retry: DeliverySettingsShape["retry"]
  /** Default: the built-in types. */
  readonly types?: ResourceTypeTable
  readonly ackTimeout: number
  readonly workers: number
  /** Processor time of a process for one request, in milliseconds. */
  readonly cpu?: number
  /** Interval at which a process dies in the middle of a request; null for never. */
  readonly crashEvery: number | null
  /** Interval at which an integration is deleted and replaced by a new one; null for never. */
  readonly deleteEvery: number | null
  /** Breaks the ports, so that a test can check whether the ledger detects the fault. */
  readonly breakage?: (ports: EnginePorts) => EnginePorts
}

/** A failure of the engine that is not one of the simulated faults. */
export class VirtualStopped extends Schema.TaggedError<VirtualStopped>()("VirtualStopped", {
  /** The failed action, like `publish an event`. */
  tried: Schema.String,
  /** Virtual time of the failure, in milliseconds since the epoch. */
  at: Schema.Number,
  cause: Schema.Defect()
}) {
  override get message(): string {
    return `The run stopped at ${new Date(this.at).toISOString()} virtual time: it could not ${this.tried}. ${rootMessage(this.cause)}. No simulated fault causes this: report it together with the command.`
  }
}

/** A publish request, which is repeated with the same key until it is accepted. */
interface Publication {
  readonly at: number
  readonly event: NewEvent
  readonly key: string | null
  tries: number
}

const hour = 3_600_000

/** Time from the death of a process to the start of its replacement. */
const absence = 5_000

/**
 * Time for which a delivery may be in progress after its timeout. Runs with crashes add two leases and `absence`.
 */
const patience = 60_000

/** How long settled deliveries are kept in memory. */
const retention = hour

/** Time for which the world stays awake after waking the engine or starting a process. */
const attention = 1_000

/** Maximum wait of a due retry while a slot is free. */
const slack = 2_000

/** Pause before a refused publication is retried, and maximum number of tries. */
const republish = { after: 1_000, most: 10 }

/** Number of events after which other fibers get a turn. */
const slice = 200

export class VirtualWorld {
  readonly time: VirtualTime
  readonly measurements: Measurements
  readonly ledger: Ledger
  crashes = 0
  deleted = 0
  /** Why the run can't continue, else null. */
  stopped: VirtualStopped | null = null
  readonly #options: VirtualOptions
  readonly #settings: DeliverySettingsShape
  readonly #types: ResourceTypeTable
  readonly #seed: Substream
  readonly #rng: Rng
  readonly #stores: Stores = Effect.runSync(Effect.scoped(storesOf(MemoryStore.layer)))
  readonly #world: World<never>
  readonly #network: Network
  /** Times at which the world wakes the engine. */
  readonly #wakes = new Set<number>()
  #awakeUntil = 0
  #crashIsDue = false
  #published = 0
  #turn = 0
  /**
   * Publications that are not accepted yet: their number, those that a process is working on, and those waiting for a
   * process.
   */
  #unaccepted = 0
  readonly #publishing = new Map<Publication, Engine<never>>()
  #waiting: Array<Publication> = []

  constructor(options: VirtualOptions) {
    this.#options = options
    this.#types = options.types ?? builtInTable
    const { ackTimeout, beginning, crashEvery, deleteEvery, receivers, retry, seed, warmUp, workers } = options
    this.#seed = child(root(seed), "virtual run")
    this.#rng = new Rng(child(this.#seed, "world"))
    this.measurements = new Measurements(warmUp)
    const { measurements } = this
    const time = new VirtualTime(this.#rng, 1)
    this.time = time
    time.wallOffset = beginning - startOfTime
    // Polling is rare, because the world wakes the engine at due times and no signal is lost. Signing is off, because
    // modelled receivers don't check signatures.
    const signing = "off"
    // A sleeping machine sends no heartbeats. Without crashes, leases are therefore long enough to outlast the sleep.
    const lease = crashEvery === null ? { lease: longestHold } : {}
    const settings = Result.getOrThrow(
      deliverySettingsOf({ retry, ackTimeout, retention, signing, pollInterval: hour, ...lease })
    )
    this.#settings = settings
    const timeOf = (instant: number) => instant - beginning
    // A request that waits for the processor is sent this much later than the engine decided.
    const tolerance = Math.ceil((options.cpu ?? 0) * settings.concurrency)
    this.ledger = new Ledger({ measurements, timeOf, retry, ackTimeout, tolerance, slack })
    this.#network = new Network({
      time,
      seed: this.#seed,
      ledger: this.ledger,
      measurements,
      receivers,
      settings,
      workers,
      cpu: options.cpu ?? 0,
      beginning,
      begun: (process, elapsed) => {
        if (!this.#crashIsDue) return
        this.#crashIsDue = false
        time.after(Math.min(1, elapsed), () => this.#crash(process))
      }
    })
    this.#world = new World({
      time,
      seed: this.#seed,
      layer: Layer.empty,
      portsOf: (process) => Effect.succeed(this.#portsOf(process)),
      started: () => {
        const waiting = this.#waiting
        this.#waiting = []
        for (const publication of waiting) this.#send(publication)
      },
      failed: (cause) => this.#stop("start the engine", Cause.squash(cause))
    })
    for (const planned of options.integrations) this.#integrate(planned, 1)
    for (let count = 0; count < workers; count++) this.#start()
    // Deletes old rows and idempotency keys.
    time.every(hour, () => this.#world.ready[0]?.run(Retention.purgeExpired))
    if (crashEvery !== null)
      time.every(crashEvery, () => {
        this.#crashIsDue = true
      })
    if (deleteEvery !== null) time.every(deleteEvery, () => this.#replaceOne())
    time.runUntil(0)
  }

  get isStopped(): boolean {
    return this.stopped !== null
  }

  /** Whether no work is in progress: all open deliveries wait for a retry. */
  get isIdle(): boolean {
    return this.ledger.moving === 0 && this.#publishing.size === 0 && this.time.wall >= this.#awakeUntil
  }

  /** Whether no delivery is open and every publication is accepted. */
  get isSettled(): boolean {
    return this.ledger.open === 0 && this.#unaccepted === 0
  }

  /** Runs everything up to the time of an event, and publishes the event. */
  play(arrival: Arrival): void {
    const { at, event } = arrival
    const { beginning, crashEvery } = this.#options
    this.time.runUntilWall(at, this)
    if (this.isStopped) return
    const since = storedSince(arrival)
    this.measurements.plan(at - beginning, since === null ? null : since - beginning)
    this.measurements.start(at - beginning, this.time.wall - beginning, null, event.resource_type)
    this.#unaccepted++
    // Without crashes, no answer is lost, so publications need no idempotency key.
    const key = crashEvery === null ? null : `run-${this.#published++}`
    this.#send({ at, event: newEventOf(event), key, tries: 0 })
  }

  /** Checks the end of the run. */
  finish(): void {
    const now = this.time.wall
    const summary = Effect.runSync(this.#stores.deliveries.summary(now))
    const { ackTimeout, crashEvery } = this.#options
    const crashed = crashEvery === null ? 0 : 2 * this.#settings.lease + absence
    this.ledger.finish(now, summary, now - ackTimeout - crashed - patience)
  }

  #stop(tried: string, cause: unknown): void {
    this.stopped ??= new VirtualStopped({ tried, at: this.time.wall, cause })
  }

  #send(publication: Publication): void {
    // A load balancer takes the processes in turn. A process sends what it has published while its queue has room.
    const { ready } = this.#world
    const engine = ready[this.#turn++ % Math.max(1, ready.length)]
    if (engine === undefined) return void this.#waiting.push(publication)
    const { at, event, key } = publication
    const began = this.time.wall
    this.#publishing.set(publication, engine)
    const request = key === null ? null : { key, fingerprint: key }
    engine.run(
      Publisher.use((publisher) => publisher.publish([event], request)),
      (exit) => {
        if (!this.#publishing.delete(publication)) return
        if (Exit.isFailure(exit)) return this.#refused(publication, Cause.squash(exit.cause))
        this.#unaccepted--
        const { wall } = this.time
        this.measurements.accept(wall - at, wall - began, wall - this.#options.beginning, event.resource_type)
      }
    )
  }

  #refused(publication: Publication, failure: unknown): void {
    const mayPass = failure instanceof StoreError || failure instanceof PublisherBusy
    if (mayPass && ++publication.tries < republish.most)
      return this.time.alarm(this.time.wall + republish.after, () => this.#send(publication))
    this.#unaccepted--
    this.#stop("publish an event", failure)
    this.measurements.fail(this.time.wall - this.#options.beginning, 1, rootMessage(failure))
  }

  #portsOf(process: Process): EnginePorts {
    const { integrations } = this.#stores
    const { matching, totals } = this.#network
    const deliveries = ledgerStore(this.#stores.deliveries, integrations, this.ledger, {
      matching,
      totals,
      due: (at) => this.#wakeAt(at),
      ended: (id) => this.#changed(id)
    })
    const ports: EnginePorts = {
      stores: { ...this.#stores, deliveries },
      transport: this.#network.transportOf(process),
      settings: this.#settings,
      types: this.#types
    }
    return this.#options.breakage?.(ports) ?? ports
  }

  #start(): void {
    this.#awakeUntil = this.time.wall + attention
    this.#world.start()
  }

  /** Wakes all processes at an instant, as the wake signal of a database would. */
  #wakeAt(instant: number): void {
    if (this.#wakes.has(instant)) return
    this.#wakes.add(instant)
    this.time.alarm(instant, () => {
      this.#wakes.delete(instant)
      for (const engine of this.#world.engines) engine.wake()
      this.#awakeUntil = this.time.wall + attention
    })
  }

  #changed(id: Parameters<Network["totals"]>[0]): void {
    for (const engine of this.#world.engines) engine.hear([id])
  }

  #integrate(planned: PlannedIntegration, generation: number): void {
    const url = `https://receiver${planned.place}.example/hook/${generation}`
    const fields = integrationOf(planned.scope, url, this.#seed, this.time.wall, this.#types)
    this.#network.add(planned, Effect.runSync(this.#stores.integrations.create(fields)))
  }

  /** Deletes an integration and creates another one in its place. */
  #replaceOne(): void {
    const { targets } = this.#network
    const target = targets[this.#rng.below(targets.length)]
    if (target === undefined) return
    const { id } = target.integration
    const { integrations } = this.#stores
    const found = Effect.runSync(integrations.find(id))
    if (found !== null) Effect.runSync(integrations.remove(found))
    this.#network.remove(target)
    this.ledger.integrationEnded(id, this.time.wall)
    this.#changed(id)
    this.#integrate(target.planned, ++this.deleted + 1)
  }

  /** Kills a process in the middle of its work, and starts another one later. */
  #crash(process: Process): void {
    const engine = this.#world.of(process)
    if (engine === undefined) return
    this.crashes++
    this.#world.remove(engine)
    this.#network.cutOff(process)
    // Once the membership of the killed process has ended, the next heartbeat of another process releases the
    // deliveries that were leased to it.
    const { lease } = this.#settings
    const back = this.time.wall + absence
    this.ledger.busy(back + 2 * lease)
    this.#wakeAt(back + lease)
    this.#wakeAt(back + 2 * lease)
    this.time.alarm(back, () => this.#start())
    for (const [publication, of] of this.#publishing) {
      if (of !== engine) continue
      this.#publishing.delete(publication)
      this.measurements.republish(this.time.wall - this.#options.beginning)
      this.time.alarm(back, () => this.#send(publication))
    }
  }
}

/**
 * Publishes each event at its time, waits until all deliveries have ended or `drain` has passed, and checks the final
 * state. `end` is the end of the plan, in milliseconds since the epoch.
 */
export const virtualRun = Effect.fnUntraced(function* <E, R>(
  load: Stream.Stream<Arrival, E, R>,
  world: VirtualWorld,
  { drain, end }: { readonly drain: number; readonly end: number }
) {
  const { time } = world
  const stopped = Effect.suspend(() => (world.stopped === null ? Effect.yieldNow : Effect.fail(world.stopped)))
  yield* load.pipe(
    Stream.rechunk(slice),
    Stream.chunks,
    Stream.runForEach((chunk) =>
      Effect.suspend(() => {
        for (const arrival of chunk) world.play(arrival)
        return stopped
      })
    )
  )
  time.runUntilWall(end, world)
  world.measurements.isLoading = false
  const last = time.wall + drain
  while (!world.isSettled && time.wall < last) {
    yield* stopped
    time.runUntilWall(Math.min(time.wall + hour, last), world)
  }
  yield* stopped
  world.finish()
})
