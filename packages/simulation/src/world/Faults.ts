/**
 * Draws faults for each call until `calmDown` is called, and applies them to store calls, signals and directory calls.
 */
import type { Directory, IntegrationId, Scope, UserId } from "@doorhook/core"
import { DirectoryError, StoreError } from "@doorhook/core"
import type { Process, Rng, VirtualTime } from "@doorhook/simulator/testing"
import { Effect } from "effect"
import type { History } from "../History.ts"
import type { Place, Scenario, SignalQuality } from "./Scenario.ts"
import { between, happens } from "./Scenario.ts"

/** Where a fault occurs in a store call: before or after it takes effect. */
type Point = "before" | "after"

/** Course of a store call. Latencies in milliseconds. */
export interface CallFate {
  readonly latency: Readonly<Record<Point, number>>
  readonly crash: Point | null
  readonly error: Point | null
  /**
   * Whether the outcome of the call is unknown after the error. True for every error after the effect, and for some
   * before it.
   */
  readonly isUnknown: boolean
}

export class Faults {
  calm = false
  /** Processes that vanish in their next transaction that records outcomes. */
  readonly vanishing = new Set<Process>()
  #storeDownUntil = 0
  #directoryDownUntil = 0
  #directorySlowUntil = 0
  readonly #rng: Rng
  readonly #time: VirtualTime
  readonly #history: History
  readonly #scenario: Scenario

  constructor(scenario: Scenario, time: VirtualTime, history: History, rng: Rng) {
    this.#scenario = scenario
    this.#time = time
    this.#history = history
    this.#rng = rng
  }

  storeDown(millis: number): void {
    this.#storeDownUntil = this.#time.now + millis
    this.#history.add({ kind: "fault", what: "store", until: this.#storeDownUntil })
  }

  directoryDown(millis: number, how: "silent" | "slow"): void {
    const until = this.#time.now + millis
    if (how === "slow") this.#directorySlowUntil = until
    else this.#directoryDownUntil = until
    this.#history.add({ kind: "fault", what: "directory", until })
  }

  calmDown(): void {
    this.calm = true
    this.vanishing.clear()
    this.#storeDownUntil = 0
    this.#directoryDownUntil = 0
    this.#directorySlowUntil = 0
    this.#history.add({ kind: "calm" })
  }

  storeCall(): CallFate {
    const rng = this.#rng
    const { faults, storeLatency } = this.#scenario
    const latency = { before: rng.below(storeLatency + 1), after: rng.below(storeLatency + 1) }
    if (this.calm) return { latency, crash: null, error: null, isUnknown: false }
    const point = happens(rng, 0.5) ? "before" : "after"
    const unwell = this.#time.now < this.#storeDownUntil && happens(rng, faults.storeError)
    const isUnknown = unwell && (point === "after" || happens(rng, 0.5))
    return { latency, crash: happens(rng, faults.crash) ? point : null, error: unwell ? point : null, isUnknown }
  }

  /** Draws the latency of a directory call, and whether it succeeds. */
  directoryCall(): { readonly latency: number; readonly answers: boolean } {
    const slow = this.#time.now < this.#directorySlowUntil
    return {
      latency: this.#rng.below((slow ? 20_000 : this.#scenario.directoryLatency) + 1),
      answers: this.#time.now >= this.#directoryDownUntil
    }
  }
}

/** Runs a store call of one process, with its faults. `leftOpen` is called if the process vanishes in its transaction. */
export type StoreCall = <A, E>(
  operation: string,
  effect: Effect.Effect<A, E>,
  leftOpen?: () => void
) => Effect.Effect<A, E | StoreError>

export const storeCalls =
  (process: Process, time: VirtualTime, faults: Faults, kill: (process: Process) => void): StoreCall =>
  (operation, effect, leftOpen) =>
    Effect.suspend(() => {
      if (!process.alive) return Effect.never
      const { crash, error, isUnknown, latency } = faults.storeCall()
      if (leftOpen !== undefined && faults.vanishing.delete(process)) {
        leftOpen()
        kill(process)
        return Effect.never
      }
      const wait = (point: Point) => (latency[point] === 0 ? Effect.void : process.wait(time, latency[point]))
      // Fast path: there are hundreds of thousands of store calls in a simulated week, most without a fault.
      if (crash === null && error === null) {
        const answered = latency.after === 0 ? effect : Effect.tap(effect, () => wait("after"))
        return latency.before === 0 ? answered : Effect.andThen(wait("before"), answered)
      }
      const reach = (point: Point): Effect.Effect<void, StoreError> =>
        Effect.suspend(() => {
          if (crash === point) {
            kill(process)
            return Effect.never
          }
          if (error !== point) return Effect.void
          const cause = new Error(`simulated, ${point} the effect`)
          return new StoreError({ operation, cause, ...(isUnknown && { outcome: "unknown" }) })
        })
      return wait("before").pipe(
        Effect.andThen(reach("before")),
        Effect.andThen(effect),
        Effect.tap(() => Effect.andThen(wait("after"), reach("after")))
      )
    })

/** How long the store keeps the transaction of a process that died, in milliseconds. */
const longestTransaction = 5_000

/** Integrations that the transactions of dead processes hold. No other transaction can settle their deliveries. */
export class Locks {
  readonly #until = new Map<IntegrationId, number>()
  readonly #time: VirtualTime
  readonly #history: History

  constructor(time: VirtualTime, history: History) {
    this.#time = time
    this.#history = history
  }

  hold(engine: number, integrations: ReadonlyArray<IntegrationId>): void {
    const until = this.#time.now + longestTransaction
    for (const id of integrations) this.#until.set(id, until)
    this.#history.add({ kind: "locked", engine, integrations, until })
  }

  isHeld(integration: IntegrationId): boolean {
    return this.#time.now < (this.#until.get(integration) ?? 0)
  }
}

/** A process that receives changes. */
export interface Listener {
  readonly process: Process
  readonly hear: (changed: ReadonlyArray<IntegrationId> | null) => void
}

export class ChangeSignals {
  readonly #quality: SignalQuality
  readonly #time: VirtualTime
  readonly #faults: Faults
  readonly #history: History
  readonly #rng: Rng

  constructor(quality: SignalQuality, time: VirtualTime, faults: Faults, history: History, rng: Rng) {
    this.#quality = quality
    this.#time = time
    this.#faults = faults
    this.#history = history
    this.#rng = rng
  }

  /** Signals to all listeners that an integration changed. */
  send(listeners: ReadonlyArray<Listener>, changed: IntegrationId): void {
    const { delay, lost, reconnect } = this.#quality
    for (const listener of listeners) {
      if (!this.#faults.calm && happens(this.#rng, lost)) {
        this.#time.after(between(this.#rng, delay, reconnect), () => this.#deliver(listener, null))
      } else this.#time.after(this.#rng.below(delay + 1), () => this.#deliver(listener, changed))
    }
  }

  #deliver(listener: Listener, integration_id: IntegrationId | null): void {
    const { alive, number } = listener.process
    if (!alive) return
    this.#history.add({ kind: "change_received", engine: number, integration_id })
    listener.hear(integration_id === null ? null : [integration_id])
  }
}

const keyOf = (user: UserId, scope: Scope): string => `${user} ${scope.type} ${scope.id}`

export class Rights {
  readonly #granted = new Set<string>()
  readonly #history: History

  constructor(places: ReadonlyArray<Place>, history: History) {
    this.#history = history
    for (const place of places) this.set(place, true)
  }

  has({ scope, user }: Place): boolean {
    return this.#granted.has(keyOf(user, scope))
  }

  set({ scope, user }: Place, granted: boolean): void {
    if (granted) this.#granted.add(keyOf(user, scope))
    else this.#granted.delete(keyOf(user, scope))
    this.#history.add({ kind: "right", user, scope, granted })
  }

  /** Returns the directory of one process, with faults. */
  directoryOf(process: Process, time: VirtualTime, faults: Faults): Directory["Service"] {
    const answered = <A>(operation: string, answer: () => A): Effect.Effect<A, DirectoryError> =>
      Effect.suspend(() => {
        const { answers, latency } = faults.directoryCall()
        const reply = answers
          ? Effect.sync(answer)
          : Effect.fail(new DirectoryError({ operation, cause: new Error("simulated") }))
        return latency === 0 ? reply : Effect.andThen(process.wait(time, latency), reply)
      })
    return {
      client: () => Effect.succeed(null),
      authenticate: () => Effect.succeed(null),
      isActive: () => answered("isActive", () => true),
      administers: (user, id) => answered("administers", () => this.has({ user, scope: { type: "building", id } })),
      isTenant: (user, id) => answered("isTenant", () => this.has({ user, scope: { type: "tenant", id } })),
      buildings: () => Effect.succeed([]),
      tenants: () => Effect.succeed([])
    }
  }
}
