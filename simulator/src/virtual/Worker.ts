/**
 * One process that publishes and delivers: the real services of core on virtual time.
 */
import type { DeliverySettingsShape, IntegrationId, NewEvent, Transport as TransportPort } from "@doorhook/core"
import {
  DeliverySettings,
  DeliveryStore,
  AbsentDirectory,
  Dispatcher,
  Housekeeping,
  IdempotencyStore,
  IntegrationStore,
  NoticeListener,
  Notices,
  Publisher,
  TokenStore,
  Transport,
  Wake
} from "@doorhook/core"
import { Cause, Context, Effect, Exit, Layer, Scope } from "effect"
import { Mailbox } from "../engine/time/Mailbox.ts"
import type { Process } from "../engine/time/Process.ts"
import { seededCrypto } from "../engine/time/SeededCrypto.ts"
import type { Stores } from "../engine/world/WatchedStore.ts"
import type { Rng } from "../random/Substream.ts"

/** Everything that a process meets, in one value, so that a part of it can be replaced by a faulty one. */
export interface WorkerPorts {
  readonly stores: Stores
  readonly transport: TransportPort["Service"]
  readonly settings: Partial<DeliverySettingsShape>
}

type Services =
  | Publisher
  | Dispatcher
  | DeliveryStore
  | IntegrationStore
  | IdempotencyStore
  | TokenStore
  | DeliverySettings

/** Nobody listens to notices here: the ledger sees what they tell of. */
const servicesOver = ({ settings, stores, transport }: WorkerPorts, wake: Wake["Service"], rng: Rng) =>
  Publisher.layer.pipe(
    Layer.provideMerge(Dispatcher.layer),
    Layer.provide(Notices.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.succeed(DeliveryStore, stores.deliveries),
        Layer.succeed(IntegrationStore, stores.integrations),
        Layer.succeed(IdempotencyStore, stores.keys),
        Layer.succeed(TokenStore, stores.tokens),
        Layer.orDie(DeliverySettings.layer(settings))
      )
    ),
    Layer.provide(
      Layer.mergeAll(
        // Rights are the subject of other simulations.
        AbsentDirectory.layer,
        Layer.succeed(Transport, transport),
        Layer.succeed(Wake, wake),
        Layer.succeed(NoticeListener, () => Effect.void),
        seededCrypto(rng)
      )
    )
  )

export class Worker {
  readonly process: Process
  readonly #ports: WorkerPorts
  readonly #rng: Rng
  readonly #signals = new Mailbox<"signal">()
  readonly #signalAll: () => void
  #services: Context.Context<Services> | null = null

  constructor(process: Process, ports: WorkerPorts, rng: Rng, signalAll: () => void) {
    this.process = process
    this.#ports = ports
    this.#rng = rng
    this.#signalAll = signalAll
  }

  get isReady(): boolean {
    return this.process.alive && this.#services !== null
  }

  start(whenReady: () => void, whenFailed: (failure: unknown) => void): void {
    const wake = {
      signal: Effect.sync(this.#signalAll),
      wait: Effect.asVoid(this.#signals.take),
      changes: Effect.never
    }
    const layer = Layer.fresh(servicesOver(this.#ports, wake, this.#rng))
    Effect.runForkWith(this.process.context)(Layer.buildWithScope(layer, Scope.makeUnsafe())).addObserver((exit) => {
      if (Exit.isFailure(exit)) return whenFailed(Cause.squash(exit.cause))
      this.#services = exit.value
      whenReady()
    })
  }

  wake(): void {
    if (this.process.alive && this.#signals.isEmpty) this.#signals.put("signal")
  }

  /** Publishes, and says how that ended. A process that dies says nothing. */
  publish(
    events: ReadonlyArray<NewEvent>,
    key: string | null,
    whenEnded: (exit: Exit.Exit<unknown, unknown>) => void
  ): void {
    const services = this.#services
    if (services === null) return
    const publisher = Context.get(services, Publisher)
    const request = key === null ? null : { key, fingerprint: key }
    Effect.runForkWith(this.process.context)(publisher.publish(events, request)).addObserver(whenEnded)
  }

  /** Gives back what is held of an integration that was deleted or disabled. */
  forget(integration: IntegrationId): void {
    if (this.#services === null) return
    Effect.runForkWith(this.process.context)(Context.get(this.#services, Dispatcher).forget(integration))
  }

  /** Clears away what is old. */
  keepHouse(): void {
    if (this.#services === null) return
    Effect.runForkWith(Context.merge(this.#services, this.process.context))(Housekeeping.houseKeep)
  }

  kill(): void {
    this.process.kill()
    this.#services = null
  }
}
