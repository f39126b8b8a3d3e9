/** One simulation: a world drawn from a seed, in which the real delivery engine runs, crashes and restarts. */
import type {
  Delivery,
  DeliverySummary,
  Event,
  EventId,
  Integration,
  Notification,
  StoreClockShape
} from "@doorhook/core"
import {
  builtInTable,
  ClockWatch,
  declareTypes,
  Deliveries,
  DeliveryId,
  Retention,
  FeedHub,
  Feeds,
  IntegrationId,
  Integrations,
  KeyInUse,
  MeasuredClock,
  NameResolver,
  OperatorIntegrations,
  StoreError
} from "@doorhook/core"
import type { Engine, EnginePorts, EngineServices, Process, Stores, Substream } from "@doorhook/simulator/testing"
import { child, Rng, root, VirtualTime, World } from "@doorhook/simulator/testing"
import type { Scope } from "effect"
import { Cause, Effect, Exit, Layer, Random, Result } from "effect"
import type { Entry, FinalDelivery, Operation } from "./History.ts"
import { History } from "./History.ts"
import type { StoreCall } from "./world/Faults.ts"
import { ChangeSignals, Faults, Locks, Rights, storeCalls } from "./world/Faults.ts"
import { Receivers } from "./world/Receivers.ts"
import type { Scenario } from "./world/Scenario.ts"
import { between, happens, ownedBy, scenarioOf } from "./world/Scenario.ts"
import type { Storage, StorageKind } from "./world/Storage.ts"
import { sharedMemory } from "./world/Storage.ts"
import { allDeliveries, watchedStores } from "./world/WatchedStore.ts"

/** Ports of an engine, all of them simulated. */
export type Ports = Required<EnginePorts>

type Services = Deliveries | Integrations | Feeds | OperatorIntegrations

const withCallEnds = Result.getOrThrow(declareTypes({}, { hasCallEnd: true }))

/** Services of an engine besides its publisher and dispatcher. */
const services = Feeds.layer.pipe(
  Layer.provide(FeedHub.layer),
  Layer.provideMerge(Layer.mergeAll(Deliveries.layer, Integrations.layer, OperatorIntegrations.layer)),
  Layer.merge(Retention.layer),
  // Each process is on a machine of its own.
  Layer.merge(Layer.unwrap(Effect.map(Random.nextInt, (machine) => ClockWatch.layer(`machine ${machine}`)))),
  Layer.provide(NameResolver.layerNone)
)

/** Outcome of an operation. `info` means unknown: the store did not confirm, or the process died. */
export type Ending<A> =
  | { readonly kind: "ok"; readonly value: A }
  | {
      readonly kind: "fail" | "info"
      readonly answer: string
      /**
       * Whether a retry makes sense: the outcome is unknown, the store failed, or the first request is still running.
       */
      readonly isOpen: boolean
    }

/**
 * Operations that change an integration. Once such an operation is answered, the process's own dispatcher has the
 * change.
 */
const changesIntegration: ReadonlySet<string> = new Set(["patch", "remove", "rotate", "switch"])

/** Parts to break in a test of the checks. */
export interface Breakage {
  /** Breaks the store for all engines. */
  readonly store?: (stores: Stores) => Stores
  /** Breaks the ports of each engine. */
  readonly engine?: (ports: Ports) => Ports
  /** Changes the scenario, for faults that show only under some conditions. */
  readonly scenario?: (scenario: Scenario) => Scenario
}

export interface SimulationOptions {
  readonly breakage?: Breakage | undefined
  /** Draws the scenario. Default: a few minutes with many faults. */
  readonly draw?: ((seed: Substream) => Scenario) | undefined
  /** Storage of the engines. Default: one in-memory store that all engines share. */
  readonly storage?: StorageKind | undefined
}

/** Everything that checks may inspect. */
export interface Outcome {
  readonly scenario: Scenario
  readonly entries: ReadonlyArray<Entry>
  readonly deliveries: ReadonlyArray<FinalDelivery>
  readonly summary: DeliverySummary
  readonly notifications: ReadonlyArray<Notification>
  /** Wall-clock time at the end. */
  readonly wall: number
}

/** Longest time before an ended process is replaced, in milliseconds. */
const longestAbsence = 10_000

/** An engine that actors send requests to. */
export type SimulatedEngine = Engine<Services>

export class Simulation {
  readonly scenario: Scenario
  readonly time: VirtualTime
  readonly history: History
  readonly faults: Faults
  readonly receivers: Receivers
  readonly rights: Rights
  readonly #changeSignals: ChangeSignals
  /** Draws the actions in the world. */
  readonly rng: Rng
  readonly #world: World<Services>
  readonly #storage: Storage
  readonly #isOwned: boolean
  readonly #members = new Map<string, number>()
  readonly #calls = new Map<string, Set<IntegrationId>>()
  readonly #locks: Locks | null
  /** The open stores; null while no process has opened them. */
  #stores: Stores | null = null
  readonly #number: number
  readonly #events = new Map<EventId, Event>()
  readonly #breakage: Breakage
  /** Unanswered operations, with their engine and a callback that ends them when the engine dies. */
  readonly #open = new Map<number, { readonly engine: SimulatedEngine; readonly end: () => void }>()
  #operations = 0
  /**
   * Error of the first engine that did not start. The run fails with it, because a world without engines would pass
   * every check.
   */
  #unstarted: Error | null = null

  constructor(seed: number, { breakage = {}, draw = scenarioOf, storage = sharedMemory }: SimulationOptions) {
    const stream = root(seed)
    this.#number = seed
    this.#breakage = breakage
    const drawn = draw(stream)
    const wanted = breakage.scenario?.(drawn) ?? drawn
    const scenario = storage.isOwned ? ownedBy(wanted) : wanted
    this.scenario = scenario
    const rngOf = (name: string) => new Rng(child(stream, name))
    const rng = rngOf("actions")
    this.rng = rng
    this.time = new VirtualTime(rngOf("interleaving"), scenario.interleaving)
    this.history = new History(this.time)
    this.faults = new Faults(scenario, this.time, this.history, rngOf("faults"))
    this.receivers = new Receivers(scenario.receivers, this.time, this.history, rngOf("receivers"))
    this.#changeSignals = new ChangeSignals(
      scenario.changeSignals,
      this.time,
      this.faults,
      this.history,
      rngOf("hearing")
    )
    this.rights = new Rights(scenario.places, this.history)
    this.#storage = storage.make()
    this.#isOwned = storage.isOwned
    this.#locks = storage.isOwned ? null : new Locks(this.time, this.history)
    this.#world = new World({
      time: this.time,
      seed: stream,
      layer: services,
      portsOf: (process) => this.#portsOf(process),
      skew: (own) => between(own, -scenario.skew, scenario.skew),
      // A signal can be late or lost; polling makes up for it.
      signalDelay: () => (happens(rng, scenario.signalsLost) ? null : rng.below(scenario.storeLatency + 1)),
      failed: (cause, { process }) => {
        this.#unstarted ??= new Error(
          `seed ${seed}: engine ${process.number} did not start, so this run proves nothing. Fix the cause: ${Cause.pretty(cause)}`
        )
      }
    })
  }

  get ready(): ReadonlyArray<SimulatedEngine> {
    return this.#world.ready
  }

  /** Returns the number of the next operation. */
  nextOperation(): number {
    return ++this.#operations
  }

  /** Runs an effect with the services of an engine, like a request to its process. */
  run<A, E>(
    engine: SimulatedEngine,
    op: number,
    operation: Operation,
    effect: Effect.Effect<A, E, Services | EngineServices>,
    whenEnded: (ending: Ending<A>) => void = () => {}
  ): void {
    if (!engine.isReady) return
    const { history } = this
    const { number } = engine.process
    history.add({ kind: "invoke", op, engine: number, operation })
    const end = (): void => {
      const ending = { kind: "info", answer: "the process died", isOpen: true } as const
      history.add({ kind: ending.kind, answer: ending.answer, op, engine: number })
      whenEnded(ending)
    }
    this.#open.set(op, { engine, end })
    engine.run(effect, (exit) => {
      if (!this.#open.delete(op)) return
      if (Exit.isSuccess(exit) && "integration_id" in operation && changesIntegration.has(operation.type))
        history.add({ kind: "change_received", engine: number, integration_id: operation.integration_id })
      const ending = endingOf(exit)
      const answer = ending.kind === "ok" ? (JSON.stringify(ending.value) ?? "") : ending.answer
      history.add({ kind: ending.kind, op, engine: number, answer })
      whenEnded(ending)
    })
  }

  /** Kills the process. Its unanswered requests may or may not have been carried out. */
  killEngine(process: Process): void {
    const engine = this.#world.of(process)
    if (engine !== undefined) this.#ended(engine)
  }

  /** Shuts the process down cleanly. */
  closeEngine(engine: SimulatedEngine): void {
    // The process closes its stores as well.
    if (this.#isOwned) this.#stores = null
    this.#note(engine.process, "closing")
    engine.close(() => {
      this.#note(engine.process, "closed")
      this.#ended(engine)
    })
  }

  /** Starts the engines. */
  start(): void {
    for (let count = 0; count < this.scenario.engines; count++) this.#start()
  }

  /** Runs the world to its end. */
  toEnd(): Outcome {
    const { scenario, time } = this
    time.runUntil(scenario.chaos)
    this.faults.calmDown()
    this.receivers.calmDown()
    time.runUntil(scenario.chaos + scenario.calm)
    if (this.#unstarted !== null) throw this.#unstarted
    const outcome = this.#outcome()
    this.#storage.dispose()
    return outcome
  }

  /** Opens the storage for an engine. */
  #opened(engine: number): Effect.Effect<Stores, never, Scope.Scope> {
    return Effect.map(this.#storage.open, (opened) => {
      if (this.#isOwned) {
        this.#members.clear()
        this.history.add({ kind: "opened", engine })
      } else if (this.#stores !== null) return this.#stores
      this.#stores = this.#breakage.store?.(opened) ?? opened
      return this.#stores
    })
  }

  #start(): void {
    this.#world.start()
    const started = this.#world.engines.at(-1)
    if (started !== undefined) this.#note(started.process, "started")
  }

  #ended(engine: SimulatedEngine): void {
    if (this.#world.of(engine.process) === undefined) return
    this.#world.remove(engine)
    this.#note(engine.process, "killed")
    for (const [op, { end, engine: of }] of this.#open) if (of === engine && this.#open.delete(op)) end()
    if (this.#isOwned) {
      this.#stores = null
      this.#storage.crashed()
    }
    const { replaced } = this.scenario
    if (this.#world.engines.length > 0 && replaced < 1 && !happens(this.rng, replaced)) return
    this.time.after(this.rng.below(longestAbsence), () => this.#start())
  }

  #note({ number, skew }: Process, what: "started" | "killed" | "closing" | "closed"): void {
    this.history.add({ kind: "process", engine: number, what, skew })
  }

  #portsOf(process: Process): Effect.Effect<Ports, never, Scope.Scope> {
    const { faults, history, receivers, rights, scenario, time } = this
    const call = storeCalls(process, time, faults, (dying) => this.killEngine(dying))
    const changed = (integration: IntegrationId) => this.#changeSignals.send(this.#world.engines, integration)
    const engine = process.number
    return Effect.map(Effect.zip(this.#opened(engine), this.#clockOf(process, call)), ([stores, clock]) => {
      const ports: Ports = {
        stores: watchedStores(stores, {
          engine,
          call,
          history,
          events: this.#events,
          members: this.#members,
          calls: this.#calls,
          locks: this.#locks,
          changed
        }),
        directory: rights.directoryOf(process, time, faults),
        transport: receivers.transportOf(process),
        settings: scenario.settings,
        types: scenario.hasCallEnds ? withCallEnds : builtInTable,
        clock,
        listener: (notification) => Effect.sync(() => history.add({ kind: "notification", engine, notification }))
      }
      return this.#breakage.engine?.(ports) ?? ports
    })
  }

  /** Returns the store's clock as a process measures it; null for a store without a clock of its own. */
  #clockOf(process: Process, call: StoreCall): Effect.Effect<StoreClockShape | null> {
    const { history, scenario, time } = this
    if (!scenario.hasStoreClock) return Effect.succeed(null)
    // A process does not start before its first measurement has succeeded.
    let isStarted = false
    const wait = Effect.suspend(() => process.wait(time, this.rng.below(scenario.storeLatency + 1)))
    const wall = Effect.sync(() => time.wall)
    const read = Effect.suspend(() =>
      isStarted
        ? call("clock", wall)
        : wait.pipe(
            Effect.andThen(wall),
            Effect.tap(() => wait)
          )
    )
    return Effect.map(Effect.orDie(MeasuredClock.make(read)), (clock) => {
      isStarted = true
      let last = Number.NaN
      const note = Effect.sync(() => {
        const lead = clock.now() - time.now
        if (lead !== last) history.add({ kind: "measured", engine: process.number, lead })
        last = lead
      })
      Effect.runSync(note)
      const { hasJumped, isCertain, now, offset } = clock
      return { hasJumped, isCertain, now, offset, measure: Effect.andThen(clock.measure, note) }
    })
  }

  #outcome(): Outcome {
    const final = Effect.gen({ self: this }, function* () {
      if (this.#stores === null)
        return yield* Effect.die(new Error(`seed ${this.#number}: no engine is running at the end`))
      const { deliveries } = this.#stores
      return yield* Effect.all({
        deliveries: allDeliveries(deliveries),
        summary: deliveries.summary(this.time.wall),
        notifications: deliveries.notifications({ limit: Number.MAX_SAFE_INTEGER })
      })
    })
    return {
      scenario: this.scenario,
      entries: this.history.entries,
      wall: this.time.wall,
      ...Effect.runSync(final)
    }
  }

  /** Reads an integration; null if it doesn't exist or no process has the stores open. */
  integration(id: number): Integration | null {
    return this.#stores === null ? null : Effect.runSync(this.#stores.integrations.find(IntegrationId.make(id)))
  }

  /** Returns the deliveries that a worker has leased; none if no process has the stores open. */
  leased(): ReadonlyArray<Pick<Delivery, "id">> {
    if (this.#stores === null) return []
    return Effect.runSync(this.#stores.deliveries.list({ states: ["delivering"], limit: 100 }))
  }

  /** Reads a delivery; null if it doesn't exist or no process has the stores open. */
  delivery(id: number): Delivery | null {
    if (this.#stores === null) return null
    return Effect.runSync(this.#stores.deliveries.find(DeliveryId.make(id)))?.delivery ?? null
  }
}

/**
 * Converts an exit to the ending of its operation. Most store errors mean that nothing changed; if the store's answer
 * was lost, the outcome is unknown.
 */
const endingOf = <A, E>(exit: Exit.Exit<A, E>): Ending<A> => {
  if (Exit.isSuccess(exit)) return { kind: "ok", value: exit.value }
  const error = Cause.squash(exit.cause)
  const isUnknown = error instanceof StoreError && error.outcome === "unknown"
  // KeyInUse: the first request with this key has no answer yet.
  const isOpen = error instanceof StoreError || error instanceof KeyInUse
  return { kind: isUnknown ? "info" : "fail", answer: String(exit.cause), isOpen }
}
