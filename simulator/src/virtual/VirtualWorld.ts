/**
 * Months on virtual time: planned traffic, the real delivery engine in processes that die and come back, and modelled
 * receivers.
 *
 * While nothing is under way and nothing is due, the machine sleeps until something happens: the wall clock goes on, the
 * engine's timers stand still, and whatever becomes due wakes it. That makes months of idle looks cost nothing. All
 * randomness comes from the seed: the same options give the same run.
 */
import type { DeliverySettingsShape, DeliverySummary, IntegrationId } from "@doorhook/core"
import { deliverySettingsOf } from "@doorhook/core"
import { Effect, Exit, Result } from "effect"
import { Process } from "../engine/time/Process.ts"
import { startOfTime, VirtualTime } from "../engine/time/VirtualTime.ts"
import { child, Rng, root } from "../random/Substream.ts"
import type { Substream } from "../random/Substream.ts"
import { Ledger } from "../results/Ledger.ts"
import { Measurements } from "../results/Measurements.ts"
import { watchedStore } from "../run/WatchedStore.ts"
import { integrationOf } from "../run/World.ts"
import { Agenda } from "./Agenda.ts"
import { Network } from "./Network.ts"
import { Publications } from "./Publications.ts"
import type { Target } from "./Targets.ts"
import { Targets } from "./Targets.ts"
import type { Publication, VirtualOptions } from "./VirtualOptions.ts"
import { urlOf } from "./VirtualOptions.ts"
import { VirtualStopped } from "./VirtualStopped.ts"
import type { WorkerPorts } from "./Worker.ts"
import { Worker } from "./Worker.ts"

/** How long a process is away that died. */
const absence = 5_000

/** For how much longer than two leases and an absence what has moved is under way: another process sends it again. */
const patience = 60_000

/** How often old rows are cleared away. */
const houseKeeping = 3_600_000

/** How long settled deliveries are kept: memory is for what is open. */
const retention = 3_600_000

/** How often the engine looks for what it was not told of. The world wakes it when something is due. */
const pollInterval = 3_600_000

/** How long the world does not sleep after it woke the engine, or after a process began. */
const attention = 1_000

/** The longest that a due retry may wait while there are places. */
const slack = 2_000

export class VirtualWorld {
  readonly time: VirtualTime
  readonly beginning: number
  readonly measurements: Measurements
  readonly ledger: Ledger
  readonly #options: VirtualOptions
  readonly #settings: DeliverySettingsShape
  readonly #seed: Substream
  readonly #rng: Rng
  /** Whoever runs the world: outside of all processes that die. */
  readonly #host: Process
  readonly #targets: Targets
  readonly #network: Network
  readonly #publications: Publications
  readonly #agenda = new Agenda()
  /** When something is due that the engine will be woken for. */
  readonly #wakes = new Set<number>()
  #awakeUntil = 0
  #workers: ReadonlyArray<Worker> = []
  #started = 0
  /** What the host does with the store and is not done yet. */
  #chores = 0
  #crashIsDue = false
  /** A process that could not begin. */
  #unbegun: VirtualStopped | null = null
  crashes = 0
  deleted = 0

  constructor(options: VirtualOptions) {
    this.#options = options
    this.beginning = options.beginning
    this.measurements = new Measurements(options.warmUp)
    const { ackTimeout, beginning, crashEvery, deleteEvery, receivers, retry, seed, workers } = options
    this.#seed = child(root(seed), "virtual run")
    this.#rng = new Rng(child(this.#seed, "world"))
    const time = new VirtualTime(this.#rng, 1)
    this.time = time
    time.wallOffset = beginning - startOfTime
    this.#host = new Process(0, time, new Rng(child(this.#seed, "host")), 0)
    this.#settings = Result.getOrThrow(deliverySettingsOf({ retry, ackTimeout, retention, pollInterval }))
    const { measurements } = this
    const timeOf = (instant: number) => instant - beginning
    this.ledger = new Ledger({ measurements, timeOf, retry, ackTimeout, tolerance: 0, slack })
    this.#targets = new Targets(receivers, measurements, this.#seed)
    this.#network = new Network({
      time,
      ledger: this.ledger,
      measurements,
      targets: this.#targets,
      settings: this.#settings,
      workers,
      beginning,
      begun: (process, elapsed) => {
        if (!this.#crashIsDue) return
        this.#crashIsDue = false
        time.after(Math.min(1, elapsed), () => this.#crash(process))
      }
    })
    this.#publications = new Publications({
      measurements,
      now: () => time.wall,
      ready: () => this.#workers.find(({ isReady }) => isReady),
      keyed: crashEvery !== null
    })
    for (const integration of options.integrations) this.#targets.add(integration)
    for (let count = 0; count < workers; count++) this.#startWorker()
    const every = (interval: number, act: () => void) => this.#agenda.every(interval, act, time.wall + interval)
    every(houseKeeping, () => this.#workers.find(({ isReady }) => isReady)?.keepHouse())
    if (crashEvery !== null)
      every(crashEvery, () => {
        this.#crashIsDue = true
      })
    if (deleteEvery !== null) every(deleteEvery, () => this.#replaceOne())
    time.runTasks()
  }

  /** Publishes what happens now. */
  publish(publications: ReadonlyArray<Publication>): void {
    for (const { at } of publications) {
      const time = at - this.#options.beginning
      this.measurements.start(time, time, null)
    }
    this.#publications.publish(publications)
  }

  /**
   * Lets everything happen up to an instant, in milliseconds since the epoch. False when real work has to be waited for
   * first: then it is to be called again. Ends early when the run has stopped.
   */
  runUntil(end: number): boolean {
    const { time } = this
    time.runTasks()
    while (time.wall < end && this.stopped === null) {
      if (this.#options.realWork?.isOpen === true) return false
      const next = Math.min(end, this.#agenda.next)
      if (next <= time.wall) this.#agenda.doNext()
      else if (this.#isIdle) this.#sleepUntil(next)
      else if (!time.fireNext(time.now + next - time.wall)) time.now += next - time.wall
      time.runTasks()
    }
    return this.#options.realWork?.isOpen !== true
  }

  /** Why the run can't go on; null as long as it can. */
  get stopped(): VirtualStopped | null {
    const lasting = this.#options.realWork?.lastingFailure ?? null
    if (lasting === null) return this.#unbegun ?? this.#publications.stopped
    return new VirtualStopped({ tried: "go on with what is under way", ...lasting, at: this.time.wall })
  }

  /** Whether nothing is open any more. */
  get isSettled(): boolean {
    return this.ledger.open === 0 && this.#chores === 0 && this.#publications.isSettled
  }

  /** Judges how it stands at the end, given what the store says. */
  finish(summary: DeliverySummary): void {
    const now = this.time.wall
    this.ledger.finish(now, summary, now - 2 * this.#settings.lease - absence - patience)
  }

  /** Does something with the store, outside of all processes. */
  #do<A, E>(effect: Effect.Effect<A, E>, then: (value: A) => void): void {
    this.#chores++
    Effect.runForkWith(this.#host.context)(effect).addObserver((exit) => {
      this.#chores--
      if (Exit.isSuccess(exit)) then(exit.value)
      else this.ledger.tell("nothing-lost", this.time.wall, `the store failed: ${String(exit.cause)}`)
    })
  }

  /** Nothing is under way: what is open waits for its retry. */
  get #isIdle(): boolean {
    const isBusy = this.ledger.moving > 0 || this.#chores > 0 || this.#publications.open > 0
    return !isBusy && this.time.wall >= this.#awakeUntil
  }

  /** The machine sleeps: the wall clock goes on, and the engine's timers do not. */
  #sleepUntil(instant: number): void {
    const { time } = this
    time.wallOffset += instant - time.wall
  }

  /** Somebody deletes an integration, and makes a new one in its place a little later. */
  #replaceOne(): void {
    const { all } = this.#targets
    const target = all[this.#rng.below(all.length)]
    if (target === undefined) return
    const number = ++this.deleted
    const { integrations } = this.#options.stores
    const remove = Effect.flatMap(integrations.find(target.integration.id), (found) =>
      found === null ? Effect.succeed(false) : integrations.remove(found)
    )
    this.#do(remove, () => this.#removed(target, number))
  }

  #removed(target: Target, number: number): void {
    const { integration, planned } = target
    this.#targets.remove(target)
    this.ledger.integrationEnded(integration.id, this.time.wall)
    this.#forget(integration.id)
    const fields = integrationOf(planned.scope, urlOf(planned, number + 1), this.#seed, this.time.wall)
    this.#do(this.#options.stores.integrations.create(fields), (stored) => this.#targets.add({ planned, stored }))
  }

  /** Tells everybody that an integration has ended, as a database's notifications would. */
  #forget(integration: IntegrationId): void {
    for (const worker of this.#workers) worker.forget(integration)
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
          matching: (event) => this.#targets.matching(event),
          totals: (id) => this.#targets.totalsOf(id),
          due: (at) => this.#wakeAt(at),
          ended: (id) => this.#forget(id)
        })
      },
      transport: this.#network.transportOf(process),
      settings: this.#settings
    }
    const worker = new Worker(process, breakage?.(ports) ?? ports, new Rng(child(own, "crypto")), () => {
      for (const other of this.#workers) other.wake()
    })
    this.#workers = [...this.#workers, worker]
    this.#awakeUntil = this.time.wall + attention
    worker.start(
      () => this.#publications.resume(),
      (cause) => {
        this.#unbegun ??= new VirtualStopped({ tried: "start the engine", tries: 1, at: this.time.wall, cause })
      }
    )
  }

  /** Wakes everybody when something is due, as a database's notifications would. */
  #wakeAt(instant: number): void {
    if (this.#wakes.has(instant)) return
    this.#wakes.add(instant)
    this.#agenda.at(instant, () => {
      this.#wakes.delete(instant)
      for (const worker of this.#workers) worker.wake()
      // Long enough for the engine to find what is due.
      this.#awakeUntil = this.time.wall + attention
    })
  }

  /** The process dies in the middle of what it does, and another one takes its place. */
  #crash(process: Process): void {
    const worker = this.#workers.find((candidate) => candidate.process === process)
    if (worker === undefined) return
    this.crashes++
    worker.kill()
    this.#workers = this.#workers.filter((other) => other !== worker)
    this.#network.cutOff(process)
    // What the dead process held is released by the first heartbeat of another after its membership has ended.
    const { lease } = this.#settings
    const back = this.time.wall + absence
    this.ledger.busy(back + 2 * lease)
    this.#wakeAt(back + lease)
    this.#wakeAt(back + 2 * lease)
    this.#agenda.at(back, () => this.#startWorker())
    for (const again of this.#publications.cutOff(worker)) this.#agenda.at(back, again)
  }
}
