/**
 * One process with the real services of core in it, over ports of the simulated world.
 */
import type {
  DeliverySettingsShape,
  Directory as DirectoryPort,
  IntegrationId,
  Notice,
  Transport as TransportPort
} from "@doorhook/core"
import {
  Deliveries,
  DeliverySettings,
  DeliveryStore,
  Directory,
  Dispatcher,
  Housekeeping,
  IdempotencyStore,
  IntegrationFeed,
  Integrations,
  IntegrationStore,
  KeyInUse,
  NameResolver,
  NoticeListener,
  Notices,
  OperatorIntegrations,
  Publisher,
  StoreError,
  TokenStore,
  Transport,
  Wake
} from "@doorhook/core"
import { Cause, Context, Effect, Exit, Layer, Scope } from "effect"
import type { Rng } from "../random/Substream.ts"
import type { History, Operation } from "./History.ts"
import { Mailbox } from "./time/Mailbox.ts"
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
  /** Between the engine and what it hears of the others. */
  readonly wake: (wake: Wake["Service"]) => Wake["Service"]
  /** What the host does with a notice. */
  readonly listener: (notice: Notice) => Effect.Effect<void>
}

export type Services =
  | Publisher
  | Deliveries
  | Integrations
  | IntegrationFeed
  | OperatorIntegrations
  | Dispatcher
  | Notices

const servicesOver = (ports: Ports, wake: Wake["Service"], rng: Rng) => {
  const dispatcher = Layer.effect(Dispatcher, Effect.map(Dispatcher, ports.dispatcher)).pipe(
    Layer.provide(Dispatcher.layer)
  )
  return IntegrationFeed.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(Publisher.layer, Deliveries.layer, Integrations.layer, OperatorIntegrations.layer)
    ),
    Layer.merge(Housekeeping.layer),
    Layer.provideMerge(dispatcher),
    Layer.provideMerge(Notices.layer),
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(DeliveryStore, ports.stores.deliveries),
        Layer.succeed(IntegrationStore, ports.stores.integrations),
        Layer.succeed(IdempotencyStore, ports.stores.keys),
        Layer.succeed(TokenStore, ports.stores.tokens),
        Layer.succeed(Directory, ports.directory),
        Layer.succeed(Transport, ports.transport),
        Layer.succeed(Wake, ports.wake(wake)),
        Layer.succeed(NoticeListener, ports.listener),
        Layer.orDie(DeliverySettings.layer(ports.settings)),
        NameResolver.layerNone,
        seededCrypto(rng)
      )
    )
  )
}

/** What others have changed; null when nobody knows. */
interface Changed {
  readonly integrations: ReadonlyArray<IntegrationId> | null
}

/** How an operation ends. An unknown end is that of a store that did not confirm, or of a process that died. */
export type Ending<A> =
  | { readonly kind: "ok"; readonly value: A }
  | {
      readonly kind: "fail" | "info"
      readonly answer: string
      /** Whether it is worth trying again: nobody knows what became of it, the store was away, or it is being carried out. */
      readonly isOpen: boolean
    }

/** Operations that the process's own dispatcher knows of before they are answered. */
const changesIntegration: ReadonlySet<string> = new Set(["patch", "remove", "rotate", "switch"])

export class Engine {
  readonly process: Process
  readonly #history: History
  readonly #ports: Effect.Effect<Ports, never, Scope.Scope>
  readonly #rng: Rng
  readonly #signals = new Mailbox<"signal">()
  readonly #changes = new Mailbox<Changed>()
  readonly #signalAll: () => void
  /** What was asked for and is not answered, and who waits for it. */
  readonly #open = new Map<number, () => void>()
  #services: Context.Context<Services> | null = null
  #scope: Scope.Closeable | null = null

  constructor(
    process: Process,
    ports: Effect.Effect<Ports, never, Scope.Scope>,
    history: History,
    rng: Rng,
    signalAll: () => void
  ) {
    this.process = process
    this.#ports = ports
    this.#history = history
    this.#rng = rng
    this.#signalAll = signalAll
  }

  get isReady(): boolean {
    return this.process.alive && this.#services !== null
  }

  /** `whenFailed` hears why it can't begin. */
  start(whenFailed: (cause: Cause.Cause<unknown>) => void): void {
    const wake = {
      signal: Effect.sync(this.#signalAll),
      wait: Effect.asVoid(this.#signals.take),
      changes: Effect.map(this.#changes.take, ({ integrations }) => integrations)
    }
    const scope = Scope.makeUnsafe()
    this.#scope = scope
    this.#note("started")
    const services = this.#ports.pipe(
      Effect.flatMap((ports) => Layer.buildWithScope(Layer.fresh(servicesOver(ports, wake, this.#rng)), scope)),
      Scope.provide(scope)
    )
    Effect.runForkWith(this.process.context)(services).addObserver((exit) => {
      if (Exit.isFailure(exit)) return whenFailed(exit.cause)
      this.#services = exit.value
    })
  }

  wake(): void {
    if (this.process.alive && this.#signals.isEmpty) this.#signals.put("signal")
  }

  /** Others have changed integrations: these, or nobody knows which. */
  hear(changed: ReadonlyArray<IntegrationId> | null): void {
    if (!this.process.alive) return
    for (const integration_id of changed ?? [null]) {
      this.#history.add({ kind: "told", engine: this.process.number, integration_id })
    }
    this.#changes.put({ integrations: changed })
  }

  /** Does something with the services, as a request to this process does. */
  run<A, E>(
    op: number,
    operation: Operation,
    effect: Effect.Effect<A, E, Services>,
    whenEnded: (ending: Ending<A>) => void = () => {}
  ): void {
    const services = this.#services
    if (services === null) return
    const engine = this.process.number
    this.#history.add({ kind: "invoke", op, engine, operation })
    this.#open.set(op, () => {
      const ending = { kind: "info", answer: "the process died", isOpen: true } as const
      this.#history.add({ kind: ending.kind, answer: ending.answer, op, engine })
      whenEnded(ending)
    })
    Effect.runForkWith(Context.merge(services, this.process.context))(effect).addObserver((exit) => {
      if (!this.#open.delete(op)) return
      if (Exit.isSuccess(exit) && "integration_id" in operation && changesIntegration.has(operation.type)) {
        this.#history.add({ kind: "told", engine, integration_id: operation.integration_id })
      }
      const ending = endingOf(exit)
      const answer = ending.kind === "ok" ? (JSON.stringify(ending.value) ?? "") : ending.answer
      this.#history.add({ kind: ending.kind, op, engine, answer })
      whenEnded(ending)
    })
  }

  /** The process dies. What it was asked for and did not answer may have been done or not. */
  kill(): void {
    if (!this.process.alive) return
    this.process.kill()
    this.#note("killed")
    const open = [...this.#open.values()]
    this.#open.clear()
    for (const end of open) end()
  }

  /** The process ends as it should, and is gone afterwards. */
  close(whenClosed: () => void): void {
    const scope = this.#scope
    if (scope === null) return
    this.#services = null
    this.#note("closing")
    Effect.runForkWith(this.process.context)(Scope.close(scope, Exit.void)).addObserver(() => {
      this.#note("closed")
      this.kill()
      whenClosed()
    })
  }

  #note(what: "started" | "killed" | "closing" | "closed"): void {
    const { number, skew } = this.process
    this.#history.add({ kind: "process", engine: number, what, skew })
  }
}

/** After most errors of a store nothing was changed; where its answer was lost, nobody knows. */
const endingOf = <A, E>(exit: Exit.Exit<A, E>): Ending<A> => {
  if (Exit.isSuccess(exit)) return { kind: "ok", value: exit.value }
  const error = Cause.squash(exit.cause)
  const isUnknown = error instanceof StoreError && error.outcome === "unknown"
  // Also KeyInUse: the first to ask with this key has no answer yet.
  const isOpen = error instanceof StoreError || error instanceof KeyInUse
  return { kind: isUnknown ? "info" : "fail", answer: String(exit.cause), isOpen }
}
