/**
 * One simulation: a world drawn from a seed, in which the real delivery engine runs, dies and is started again.
 */
import type { Delivery, DeliverySummary, Event, EventId, Integration, Notice } from "@doorhook/core"
import { DeliveryId, IntegrationId } from "@doorhook/core"
import type { Scope } from "effect"
import { Cause, Effect } from "effect"
import type { Substream } from "../random/Substream.ts"
import { child, Rng, root } from "../random/Substream.ts"
import { act } from "./Actors.ts"
import type { Ports } from "./Engine.ts"
import { Engine } from "./Engine.ts"
import type { Entry, FinalDelivery } from "./History.ts"
import { History } from "./History.ts"
import { Process } from "./time/Process.ts"
import { VirtualTime } from "./time/VirtualTime.ts"
import { between, happens } from "./world/Draw.ts"
import { Faults } from "./world/Faults.ts"
import { Hearing } from "./world/Hearing.ts"
import { Receivers } from "./world/Receivers.ts"
import { Rights } from "./world/Rights.ts"
import type { Scenario } from "./world/Scenario.ts"
import { actionKinds, scenarioOf } from "./world/Scenario.ts"
import type { Storage, StorageKind } from "./world/Storage.ts"
import { sharedMemory } from "./world/Storage.ts"
import { storeCalls } from "./world/StoreCalls.ts"
import type { Stores } from "./world/WatchedStore.ts"
import { allDeliveries, watchedStores } from "./world/WatchedStore.ts"

/** What is replaced to see whether the checks notice. */
export interface Breakage {
  /** The store itself, seen by all engines. */
  readonly store?: (stores: Stores) => Stores
  /** What one engine has in its hands. */
  readonly engine?: (ports: Ports) => Ports
  /** The scenario, where a fault shows only under some conditions. */
  readonly scenario?: (scenario: Scenario) => Scenario
}

export interface SimulationOptions {
  readonly breakage?: Breakage | undefined
  /** Draws the world. Default: minutes of chaos. */
  readonly draw?: ((seed: Substream) => Scenario) | undefined
  /** Where the engines store. Default: a memory that all share. */
  readonly storage?: StorageKind | undefined
}

/** All that checks may look at. */
export interface Outcome {
  readonly scenario: Scenario
  readonly entries: ReadonlyArray<Entry>
  readonly deliveries: ReadonlyArray<FinalDelivery>
  readonly summary: DeliverySummary
  readonly notices: ReadonlyArray<Notice>
  /** The wall clock at the end. */
  readonly wall: number
}

/** How long a process is away before another one takes its place, in milliseconds, at most. */
const longestAbsence = 10_000

export class Simulation {
  readonly scenario: Scenario
  readonly time: VirtualTime
  readonly history: History
  readonly faults: Faults
  readonly receivers: Receivers
  readonly rights: Rights
  readonly #hearing: Hearing
  /** Draws what happens next in the world. */
  readonly rng: Rng
  readonly #storage: Storage
  readonly #isOwned: boolean
  readonly #members = new Map<string, number>()
  /** What is stored now; null while no process has it open. */
  #stores: Stores | null = null
  readonly #number: number
  readonly #seed
  readonly #events = new Map<EventId, Event>()
  readonly #breakage: Breakage
  #engines: ReadonlyArray<Engine> = []
  #processes = 0
  #operations = 0
  /** An engine that could not begin: a world without engines keeps every rule. */
  #unbegun: Error | null = null

  constructor(seed: number, { breakage = {}, draw = scenarioOf, storage = sharedMemory }: SimulationOptions) {
    const stream = root(seed)
    this.#number = seed
    this.#seed = stream
    this.#breakage = breakage
    const drawn = draw(stream)
    const wanted = breakage.scenario?.(drawn) ?? drawn
    this.scenario = storage.isOwned ? ownedBy(wanted) : wanted
    const rngOf = (name: string) => new Rng(child(stream, name))
    this.rng = rngOf("actions")
    this.time = new VirtualTime(rngOf("interleaving"), this.scenario.interleaving)
    this.history = new History(this.time)
    this.faults = new Faults(this.scenario, this.time, this.history, rngOf("faults"))
    this.receivers = new Receivers(this.scenario.receivers, this.time, this.history, rngOf("receivers"))
    this.#hearing = new Hearing(this.scenario.hearing, this.time, this.faults, rngOf("hearing"))
    this.rights = new Rights(this.scenario.places, this.history)
    this.#storage = storage.make()
    this.#isOwned = storage.isOwned
  }

  get ready(): ReadonlyArray<Engine> {
    return this.#engines.filter((engine) => engine.isReady)
  }

  /** The number of the next operation. */
  nextOperation(): number {
    return ++this.#operations
  }

  startEngine(): void {
    const { history, rng, scenario, time } = this
    const number = ++this.#processes
    const own = new Rng(child(child(this.#seed, "process"), number))
    const process = new Process(number, time, own, between(own, -scenario.skew, scenario.skew))
    const ports = Effect.map(this.#open(number), (stores) => {
      const all = this.#portsOf(process, stores)
      return this.#breakage.engine?.(all) ?? all
    })
    const crypto = new Rng(child(child(this.#seed, "crypto"), number))
    const engine = new Engine(process, ports, history, crypto, () => {
      // A signal can be late or lost: there is a poll behind it.
      for (const other of this.#engines) {
        if (!happens(rng, scenario.signalsLost)) time.after(rng.below(scenario.storeLatency + 1), () => other.wake())
      }
    })
    this.#engines = [...this.#engines, engine]
    engine.start((cause) => {
      this.#unbegun ??= new Error(
        `seed ${this.#number}: engine ${number} did not start, so that its world shows nothing; put right what stands in its way: ${Cause.pretty(cause)}`
      )
    })
  }

  killEngine(process: Process): void {
    const engine = this.#engines.find((candidate) => candidate.process === process)
    if (engine === undefined || !process.alive) return
    engine.kill()
    this.#leave()
    this.#replace(engine)
  }

  closeEngine(engine: Engine): void {
    // It closes its stores, too.
    if (this.#isOwned) this.#stores = null
    engine.close(() => {
      this.#leave()
      this.#replace(engine)
    })
  }

  run(): Outcome {
    const { rng, scenario, time } = this
    for (let count = 0; count < scenario.engines; count++) this.startEngine()
    for (const kind of actionKinds) {
      // Most integrations are there before the first events; no publisher waits for them.
      const span = kind === "create" ? scenario.chaos / 3 : scenario.chaos
      for (let count = 0; count < scenario.actions[kind]; count++) time.after(rng.below(span), () => act(this, kind))
    }
    time.runUntil(scenario.chaos)
    this.faults.calmDown()
    this.receivers.calmDown()
    time.runUntil(scenario.chaos + scenario.calm)
    if (this.#unbegun !== null) throw this.#unbegun
    const outcome = this.#outcome()
    this.#storage.dispose()
    return outcome
  }

  /** Opens the storage for an engine. */
  #open(engine: number): Effect.Effect<Stores, never, Scope.Scope> {
    return Effect.map(this.#storage.open, (opened) => {
      if (this.#isOwned) {
        this.#members.clear()
        this.history.add({ kind: "opened", engine })
      } else if (this.#stores !== null) return this.#stores
      this.#stores = this.#breakage.store?.(opened) ?? opened
      return this.#stores
    })
  }

  /** A process is gone that may have had the storage to itself. */
  #leave(): void {
    if (!this.#isOwned) return
    this.#stores = null
    this.#storage.crashed()
  }

  #portsOf(process: Process, stores: Stores): Ports {
    const { faults, history, receivers, rights, scenario, time } = this
    const call = storeCalls(process, time, faults, (dying) => this.killEngine(dying))
    const changed = (integration: IntegrationId) => this.#hearing.tell(this.#engines, integration)
    const engine = process.number
    return {
      stores: watchedStores(stores, { engine, call, history, events: this.#events, members: this.#members, changed }),
      directory: rights.directoryOf(process, time, faults),
      transport: receivers.transportOf(process),
      settings: scenario.settings,
      dispatcher: (dispatcher) => dispatcher,
      wake: (wake) => wake,
      listener: (notice) => Effect.sync(() => history.add({ kind: "notice", engine, notice }))
    }
  }

  #replace(engine: Engine): void {
    this.#engines = this.#engines.filter((other) => other !== engine)
    const { replaced } = this.scenario
    if (this.#engines.length > 0 && replaced < 1 && !happens(this.rng, replaced)) return
    this.time.after(this.rng.below(longestAbsence), () => this.startEngine())
  }

  #outcome(): Outcome {
    const final = Effect.gen({ self: this }, function* () {
      if (this.#stores === null)
        return yield* Effect.die(new Error(`seed ${this.#number}: no engine is left at the end`))
      const { deliveries } = this.#stores
      return yield* Effect.all({
        deliveries: allDeliveries(deliveries),
        summary: deliveries.summary(this.time.wall),
        notices: deliveries.notices({ limit: Number.MAX_SAFE_INTEGER })
      })
    })
    return {
      scenario: this.scenario,
      entries: this.history.entries,
      wall: this.time.wall,
      ...Effect.runSync(final)
    }
  }

  /** Everything that is stored of an integration; null when there is none, or no process that could look. */
  integration(id: number): Integration | null {
    return this.#stores === null ? null : Effect.runSync(this.#stores.integrations.find(IntegrationId.make(id)))
  }

  /** A delivery that exists, or null. */
  delivery(id: number): Delivery | null {
    if (this.#stores === null) return null
    return Effect.runSync(this.#stores.deliveries.find(DeliveryId.make(id)))?.delivery ?? null
  }
}

/** The same world with a single process at a time. */
const ownedBy = (scenario: Scenario): Scenario => ({ ...scenario, engines: 1, replaced: 1 })

/** Runs the world of a seed: minutes of chaos, or what else is drawn. */
export const simulate = (seed: number, options: SimulationOptions = {}): Outcome => new Simulation(seed, options).run()
