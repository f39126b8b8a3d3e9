/**
 * One process with the real services of core in it, over ports of the simulated world.
 */
import type { DeliverySettingsShape, Directory as DirectoryPort, Transport as TransportPort } from "@doorhook/core"
import {
  Deliveries,
  DeliverySettings,
  DeliveryStore,
  Directory,
  Dispatcher,
  Integrations,
  IntegrationStore,
  NameResolver,
  Publisher,
  Transport,
  Wake
} from "@doorhook/core"
import { Context, Effect, Exit, Layer, Queue, Scope } from "effect"
import type { Rng } from "../random/Substream.ts"
import type { History, Operation } from "./History.ts"
import type { Process } from "./time/Process.ts"
import { seededCrypto } from "./time/SeededCrypto.ts"
import type { Stores } from "./world/WatchedStore.ts"

/** Everything an engine meets, in one value, so that a part of it can be replaced by a faulty one. */
export interface Ports {
  readonly stores: Stores
  readonly directory: DirectoryPort["Service"]
  readonly transport: TransportPort["Service"]
  readonly settings: Partial<DeliverySettingsShape>
  /** Between a publisher or the integrations and the dispatcher. */
  readonly dispatcher: (dispatcher: Dispatcher["Service"]) => Dispatcher["Service"]
}

export type Services = Publisher | Deliveries | Integrations | Dispatcher

const servicesOver = (ports: Ports, wake: Wake["Service"], rng: Rng) => {
  const dispatcher = Layer.effect(Dispatcher, Effect.map(Dispatcher, ports.dispatcher)).pipe(
    Layer.provide(Dispatcher.layer)
  )
  return Layer.mergeAll(Publisher.layer, Deliveries.layer, Integrations.layer).pipe(
    Layer.provideMerge(dispatcher),
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(DeliveryStore, ports.stores.deliveries),
        Layer.succeed(IntegrationStore, ports.stores.integrations),
        Layer.succeed(Directory, ports.directory),
        Layer.succeed(Transport, ports.transport),
        Layer.succeed(Wake, wake),
        Layer.orDie(DeliverySettings.layer(ports.settings)),
        NameResolver.layerNone,
        seededCrypto(rng)
      )
    )
  )
}

export class Engine {
  readonly process: Process
  readonly #history: History
  readonly #ports: Ports
  readonly #rng: Rng
  readonly #signals: Queue.Queue<void>
  readonly #signalAll: () => void
  readonly #open = new Set<number>()
  #services: Context.Context<Services> | null = null
  #scope: Scope.Closeable | null = null

  constructor(process: Process, ports: Ports, history: History, rng: Rng, signalAll: () => void) {
    this.process = process
    this.#ports = ports
    this.#history = history
    this.#rng = rng
    this.#signalAll = signalAll
    this.#signals = Effect.runSync(Queue.sliding<void>(1))
  }

  get isReady(): boolean {
    return this.process.alive && this.#services !== null
  }

  start(): void {
    const wake = { signal: Effect.sync(this.#signalAll), wait: Queue.take(this.#signals) }
    const scope = Scope.makeUnsafe()
    this.#scope = scope
    this.#history.add({ kind: "process", engine: this.process.number, what: "started" })
    const layer = Layer.fresh(servicesOver(this.#ports, wake, this.#rng))
    Effect.runForkWith(this.process.context)(Layer.buildWithScope(layer, scope)).addObserver((exit) => {
      if (Exit.isSuccess(exit)) this.#services = exit.value
    })
  }

  wake(): void {
    if (this.process.alive) Queue.offerUnsafe(this.#signals, undefined)
  }

  /** Does something with the services, as a request to this process does. */
  run<A, E>(op: number, operation: Operation, effect: Effect.Effect<A, E, Services>): void {
    const services = this.#services
    if (services === null) return
    const engine = this.process.number
    this.#history.add({ kind: "invoke", op, engine, operation })
    this.#open.add(op)
    Effect.runForkWith(Context.merge(services, this.process.context))(effect).addObserver((exit) => {
      if (!this.#open.delete(op)) return
      // A change of an integration has reached the dispatcher before it is answered.
      if (Exit.isSuccess(exit) && (operation.type === "patch" || operation.type === "remove")) {
        this.#history.add({ kind: "told", engine, integration_id: operation.integration_id })
      }
      this.#history.add({ kind: endingOf(exit), op, engine, answer: answerOf(exit) })
    })
  }

  /** The process dies. What it was asked for and did not answer may have been done or not. */
  kill(): void {
    if (!this.process.alive) return
    this.process.kill()
    this.#history.add({ kind: "process", engine: this.process.number, what: "killed" })
    for (const op of this.#open) {
      this.#history.add({ kind: "info", op, engine: this.process.number, answer: "the process died" })
    }
    this.#open.clear()
  }

  /** The process ends as it should, and is gone afterwards. */
  close(whenClosed: () => void): void {
    const scope = this.#scope
    if (scope === null) return
    this.#services = null
    this.#history.add({ kind: "process", engine: this.process.number, what: "closing" })
    Effect.runForkWith(this.process.context)(Scope.close(scope, Exit.void)).addObserver(() => {
      this.#history.add({ kind: "process", engine: this.process.number, what: "closed" })
      this.kill()
      whenClosed()
    })
  }
}

/** A store error says that nothing was changed, but the simulated ones can come after the effect: nobody knows. */
const endingOf = <A, E>(exit: Exit.Exit<A, E>): "ok" | "fail" | "info" => {
  if (Exit.isSuccess(exit)) return "ok"
  return String(exit.cause).includes("StoreError") ? "info" : "fail"
}

const answerOf = <A, E>(exit: Exit.Exit<A, E>): string =>
  Exit.isSuccess(exit) ? (JSON.stringify(exit.value) ?? "") : String(exit.cause)
