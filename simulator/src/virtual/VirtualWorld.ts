/**
 * Months on virtual time: planned traffic, the real delivery engine in processes that die and come back, and modelled
 * receivers.
 *
 * While nothing is under way and nothing is due, the machine sleeps until something happens: the wall clock goes on, the
 * engine's timers stand still, and whatever becomes due wakes it. That makes months of idle looks cost nothing. All randomness comes from the seed: the same options give the same run.
 */
import type {
  DeliverySettingsShape,
  DeliverySummary,
  IntegrationId,
  NewEvent,
  Transport,
  TransportResult
} from "@doorhook/core"
import { Acknowledgement, defaultDeliverySettings, Signature } from "@doorhook/core"
import { Effect, Exit } from "effect"
import { Process } from "../engine/time/Process.ts"
import { TimerHeap } from "../engine/time/TimerHeap.ts"
import { startOfTime, VirtualTime } from "../engine/time/VirtualTime.ts"
import type { Stores } from "../engine/world/WatchedStore.ts"
import { child, Rng, root } from "../random/Substream.ts"
import type { Substream } from "../random/Substream.ts"
import { LocalClock } from "../receivers/LocalClock.ts"
import { Receiver } from "../receivers/Receiver.ts"
import { modelFor } from "../receivers/ReceiverText.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import { Ledger } from "../run/Ledger.ts"
import type { IntegrationTotals } from "../run/Measurements.ts"
import { Measurements } from "../run/Measurements.ts"
import { watchedStore } from "../run/WatchedStore.ts"
import { integrationOf, Matcher } from "../run/World.ts"
import type { PlannedIntegration } from "../run/World.ts"
import type { WorkerPorts } from "./Worker.ts"
import { Worker } from "./Worker.ts"
import type { RealWork } from "./RealWork.ts"

/** All times in milliseconds. */
export interface VirtualOptions {
  readonly seed: number
  /** When the run begins, since the epoch. */
  readonly beginning: number
  readonly integrations: ReadonlyArray<StoredIntegration>
  readonly receivers: ReadonlyArray<ReceiverRule>
  readonly retry: DeliverySettingsShape["retry"]
  readonly ackTimeout: number
  readonly workers: number
  /** How often a process dies, in the middle of something; null for never. */
  readonly crashEvery: number | null
  /** How often somebody deletes an integration and makes another one; null for never. */
  readonly deleteEvery: number | null
  readonly stores: Stores
  /** Store calls that wait for real work, of a disk: time stands still meanwhile. Null for a store that has none. */
  readonly realWork: RealWork | null
  /** What is replaced to see whether the rules notice. */
  readonly breakage?: (ports: WorkerPorts) => WorkerPorts
}

/** An integration that is stored already. */
export interface StoredIntegration {
  readonly id: IntegrationId
  readonly planned: PlannedIntegration
  readonly url: string
}

/** Where an integration's receiver is; each integration in its place has another URL. */
export const urlOf = ({ place }: PlannedIntegration, generation = 1): string =>
  `https://receiver${place}.example/hook/${generation}`

/** What is published, when, and by which clock people lived when it happened. */
export interface Publication {
  /** Since the epoch. */
  readonly at: number
  readonly event: NewEvent
  readonly zone: string
}

/** What one request to publish carries. */
interface Batch {
  readonly publications: ReadonlyArray<Publication>
  readonly key: string | null
}

/** How long a process is away that died. */
const absence = 5_000

/** How often old rows are cleared away. */
const houseKeeping = 3_600_000

/** How long settled deliveries are kept: memory is for what is open. */
const retention = 6 * 3_600_000

/** How often the engine looks for what it was not told of. The world wakes it when something is due. */
const pollInterval = 3_600_000

/** How long the world does not sleep after it woke the engine, or after a process began. */
const attention = 1_000

/** The longest that a due retry may wait while there are places. */
const slack = 2_000

/** An integration and its receiver. */
interface Target {
  readonly planned: PlannedIntegration
  readonly receiver: Receiver
  readonly clock: LocalClock
  readonly totals: IntegrationTotals
  readonly id: IntegrationId
  readonly url: string
  open: number
}

export class VirtualWorld {
  readonly time: VirtualTime
  readonly measurements = new Measurements()
  readonly ledger: Ledger
  readonly #options: VirtualOptions
  readonly #settings: Partial<DeliverySettingsShape>
  readonly #seed: Substream
  readonly #rng: Rng
  /** Whoever runs the world: outside of all processes that die. */
  readonly #host: Process
  readonly #matcher = new Matcher()
  readonly #byUrl = new Map<string, Target>()
  readonly #byId = new Map<IntegrationId, Target>()
  readonly #clocks = new Map<string, LocalClock>()
  /** What the world does at which time of the wall clock. */
  readonly #agenda = new TimerHeap()
  #planned = 0
  /** When something is due that the engine will be woken for. */
  readonly #wakes = new Set<number>()
  #awakeUntil = 0
  #workers: ReadonlyArray<Worker> = []
  #started = 0
  #publishing = 0
  #batches = 0
  #inFlight = 0
  /** What was given to a process and is not answered, and what to do if it dies. */
  readonly #unanswered = new Map<Batch, { readonly process: Process; readonly again: () => void }>()
  /** What waits for a process that takes it. */
  #waiting: Array<Batch> = []
  #crashIsDue = false
  crashes = 0
  deleted = 0

  constructor(options: VirtualOptions) {
    this.#options = options
    const { ackTimeout, beginning, crashEvery, deleteEvery, retry, seed } = options
    this.#seed = child(root(seed), "virtual run")
    this.#rng = new Rng(child(this.#seed, "world"))
    this.time = new VirtualTime(this.#rng, 1)
    this.time.wallOffset = beginning - startOfTime
    this.#host = new Process(0, this.time, new Rng(child(this.#seed, "host")), 0)
    this.#settings = { retry, ackTimeout, retention, pollInterval }
    const timeOf = (instant: number) => instant - beginning
    const { measurements } = this
    this.ledger = new Ledger({ measurements, timeOf, retry, ackTimeout, tolerance: 0, slack })
    for (const { id, planned, url } of options.integrations) this.#add(planned, id, url)
    for (let count = 0; count < options.workers; count++) this.#startWorker()
    this.#every(houseKeeping, () => this.#workers.find(({ isReady }) => isReady)?.keepHouse())
    if (crashEvery !== null)
      this.#every(crashEvery, () => {
        this.#crashIsDue = true
      })
    if (deleteEvery !== null) this.#every(deleteEvery, () => this.#replaceOne())
    this.time.runTasks()
  }

  /** Publishes what happens now. */
  publish(publications: ReadonlyArray<Publication>): void {
    for (const { at, zone } of publications) {
      const time = at - this.#options.beginning
      this.measurements.plan(time, at, this.#clockOf(zone))
      this.measurements.start(time, 0)
    }
    // A host that hears nothing of a publication makes it again, under the same key.
    const key = this.#options.crashEvery === null ? null : `run-${this.#batches}`
    this.#batches++
    this.#hand({ publications, key })
  }

  /**
   * Lets everything happen up to an instant, in milliseconds since the epoch. False when real work has to be waited for
   * first: then it is to be called again.
   */
  runUntil(end: number): boolean {
    const { time } = this
    time.runTasks()
    while (time.wall < end) {
      if (this.#options.realWork?.isOpen === true) return false
      const next = Math.min(end, this.#agenda.first?.at ?? Number.POSITIVE_INFINITY)
      if (next <= time.wall) this.#agenda.takeFirst()?.fire()
      else if (this.#isIdle) this.#sleepUntil(next)
      else if (!time.fireNext(time.now + next - time.wall)) time.now += next - time.wall
      time.runTasks()
    }
    return this.#options.realWork?.isOpen !== true
  }

  /** Whether nothing is open any more. */
  get isSettled(): boolean {
    return this.ledger.open === 0 && this.#publishing === 0 && this.#waiting.length === 0
  }

  /** Judges how it stands at the end, given what the store says. */
  finish(summary: DeliverySummary): void {
    this.ledger.finish(this.time.wall, summary)
  }

  /** Does something with the store, outside of all processes. */
  #do<A, E>(effect: Effect.Effect<A, E>, then: (value: A) => void): void {
    this.#publishing++
    Effect.runForkWith(this.#host.context)(effect).addObserver((exit) => {
      this.#publishing--
      if (Exit.isSuccess(exit)) then(exit.value)
      else this.ledger.tell("nothing-lost", this.time.wall, `the store failed: ${String(exit.cause)}`)
    })
  }

  /** Nothing is under way: what is open waits for its retry. */
  get #isIdle(): boolean {
    return this.ledger.moving === 0 && this.#publishing === 0 && !this.#isAwake
  }

  /** The machine sleeps: the wall clock goes on, and the engine's timers do not. */
  #sleepUntil(instant: number): void {
    const { time } = this
    time.wallOffset += instant - time.wall
  }

  /** Does something at an instant. */
  #at(instant: number, act: () => void): void {
    this.#agenda.add({ at: instant, order: this.#planned++, fire: act, cancelled: false })
  }

  #every(interval: number, act: () => void, next = this.time.wall + interval): void {
    this.#at(next, () => {
      act()
      this.#every(interval, act, next + interval)
    })
  }

  #clockOf(zone: string): LocalClock {
    const known = this.#clocks.get(zone)
    if (known !== undefined) return known
    const clock = new LocalClock(zone)
    this.#clocks.set(zone, clock)
    return clock
  }

  #create(planned: PlannedIntegration, generation: number): void {
    const url = urlOf(planned, generation)
    const fields = integrationOf(planned.scope, url, this.#seed, this.time.wall)
    this.#do(this.#options.stores.integrations.create(fields), ({ id }) => this.#add(planned, id, url))
  }

  #add(planned: PlannedIntegration, id: IntegrationId, url: string): void {
    const { receivers } = this.#options
    const rules = receivers.filter(({ appliesTo }) => appliesTo(planned.place)).map(({ text }) => text)
    const target: Target = {
      planned,
      id,
      url,
      receiver: new Receiver(modelFor(receivers, planned.place), new Rng(child(child(this.#seed, "receiver"), url))),
      clock: this.#clockOf(planned.zone),
      totals: this.measurements.integration(id, planned.name, rules.join(" ")),
      open: 0
    }
    this.#byUrl.set(url, target)
    this.#byId.set(id, target)
    this.#matcher.add(planned.scope, id)
  }

  /** Somebody deletes an integration, and makes a new one in its place a little later. */
  #replaceOne(): void {
    const all = [...this.#byId.values()]
    const target = all[this.#rng.below(all.length)]
    if (target === undefined) return
    const number = ++this.deleted
    this.#do(this.#options.stores.integrations.remove(target.id, this.time.wall), () => this.#removed(target, number))
  }

  #removed(target: Target, number: number): void {
    this.#byId.delete(target.id)
    this.#matcher.remove(target.planned.scope, target.id)
    this.ledger.integrationEnded(target.id, this.time.wall)
    for (const worker of this.#workers) worker.forget(target.id)
    this.#create(target.planned, number + 1)
  }

  #startWorker(): void {
    const number = ++this.#started
    const own = child(child(this.#seed, "process"), number)
    const process = new Process(number, this.time, new Rng(own), 0)
    const { breakage, stores } = this.#options
    const ports: WorkerPorts = {
      stores: {
        ...stores,
        deliveries: watchedStore(stores.deliveries, stores.integrations, this.ledger, {
          matching: (event) => this.#matcher.matching(event),
          totals: (id) => this.#totalsOf(id),
          due: (at) => this.#wakeAt(at)
        })
      },
      transport: this.#transportOf(process),
      settings: this.#settings
    }
    const worker = new Worker(process, breakage?.(ports) ?? ports, new Rng(child(own, "crypto")), () => {
      for (const other of this.#workers) other.wake()
    })
    this.#workers = [...this.#workers, worker]
    this.#awakeUntil = this.time.wall + attention
    worker.start(() => {
      const waiting = this.#waiting
      this.#waiting = []
      for (const batch of waiting) this.#hand(batch)
    })
  }

  /** Wakes everybody when something is due, as a database's notifications would. */
  #wakeAt(instant: number): void {
    if (this.#wakes.has(instant)) return
    this.#wakes.add(instant)
    this.#at(instant, () => {
      this.#wakes.delete(instant)
      for (const worker of this.#workers) worker.wake()
      // Long enough for the engine to find what is due.
      this.#awakeUntil = this.time.wall + attention
    })
  }

  get #isAwake(): boolean {
    return this.time.wall < this.#awakeUntil
  }

  #totalsOf(id: IntegrationId): IntegrationTotals {
    return this.#byId.get(id)?.totals ?? this.measurements.integration(id, `integration ${id}`, "")
  }

  /** Gives a batch to a process that takes it. */
  #hand(batch: Batch): void {
    const worker = this.#workers.find(({ isReady }) => isReady)
    if (worker === undefined) {
      this.#waiting.push(batch)
      return
    }
    this.#publishing++
    const { publications, key } = batch
    const { process } = worker
    const began = this.time.wall
    const again = () => {
      this.#publishing--
      this.#hand(batch)
    }
    this.#unanswered.set(batch, { process, again })
    worker.publish(
      publications.map(({ event }) => event),
      key,
      (accepted) => {
        if (!this.#unanswered.delete(batch)) return
        if (!accepted) return again()
        this.#publishing--
        for (const { at } of publications) this.measurements.accept(this.time.wall - at, this.time.wall - began)
      }
    )
  }

  /** The process dies in the middle of what it does, and another one takes its place. */
  #crash(process: Process): void {
    const worker = this.#workers.find((candidate) => candidate.process === process)
    if (worker === undefined) return
    this.#crashIsDue = false
    this.crashes++
    worker.kill()
    this.#workers = this.#workers.filter((other) => other !== worker)
    // What the dead process held comes free when its leases end.
    const { lease } = defaultDeliverySettings
    this.ledger.busy(this.time.wall + lease + absence)
    this.#wakeAt(this.time.wall + lease + absence)
    for (const target of this.#byUrl.values()) target.open = 0
    this.#at(this.time.wall + absence, () => this.#startWorker())
    for (const [batch, { again, process: asked }] of this.#unanswered) {
      if (asked !== process) continue
      this.#unanswered.delete(batch)
      this.#at(this.time.wall + absence, again)
    }
  }

  #transportOf(process: Process): Transport["Service"] {
    return {
      post: ({ body, deadline, headers, url }) =>
        Effect.callback<TransportResult>((resume) => {
          const target = this.#byUrl.get(url)
          if (target === undefined || !process.alive) return
          const now = this.time.wall
          const tracked = this.ledger.requested(
            target.id,
            headers[Signature.headerNames.id] ?? "",
            Number(headers[Signature.headerNames.attempt] ?? 0),
            body,
            now
          )
          this.#opened(target, now)
          const sinceStart = now - this.#options.beginning
          const local = target.clock.at(now)
          const { processed, result } = target.receiver.receive({ now, sinceStart, deadline, local })
          if (processed && tracked !== null) this.ledger.processed(tracked, now)
          this.time.after(result.elapsed, () => {
            if (!process.alive) return
            this.#inFlight--
            target.open--
            const outcome = Acknowledgement.judge(result, deadline, "200")
            if (tracked !== null) this.ledger.responded(tracked, result, outcome, this.time.wall)
            resume(Effect.succeed(result))
          })
          if (this.#crashIsDue) this.time.after(Math.min(1, result.elapsed), () => this.#crash(process))
        })
    }
  }

  #opened(target: Target, now: number): void {
    this.#inFlight++
    target.open++
    const { measurements } = this
    measurements.mostInFlight = Math.max(measurements.mostInFlight, this.#inFlight)
    const { concurrency, concurrencyPerIntegration } = defaultDeliverySettings
    const places = Math.floor(concurrencyPerIntegration / this.#options.workers)
    if (this.#inFlight >= 0.4 * concurrency || target.open >= Math.max(1, places)) this.ledger.busy(now)
  }
}
