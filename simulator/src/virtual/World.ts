/**
 * Processes of the real delivery engine on virtual time: they start, wake each other, die and are replaced.
 */
import type { IntegrationId } from "@doorhook/core"
import { WakeSignal } from "@doorhook/core"
import type { Cause } from "effect"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { Mailbox, Process } from "../clock/Process.ts"
import { seededCrypto } from "../clock/SeededCrypto.ts"
import type { VirtualTime } from "../clock/VirtualTime.ts"
import { child, Rng } from "../random/Substream.ts"
import type { Substream } from "../random/Substream.ts"
import type { EnginePorts, EngineServices } from "../run/EngineLayer.ts"
import { engineLayer } from "../run/EngineLayer.ts"

/** Options of a world: how processes reach each other, and the ports of each process. */
export interface WorldOptions<Services> {
  readonly time: VirtualTime
  readonly seed: Substream
  /** Opens the ports of a process when it starts. They are closed together with the process. */
  readonly portsOf: (process: Process) => Effect.Effect<EnginePorts, never, Scope.Scope>
  /** Services in addition to publisher and dispatcher. */
  readonly layer: Layer.Layer<Services, unknown, EngineServices>
  /** Returns how far the clock of a process is ahead, in milliseconds. */
  readonly skew?: (rng: Rng) => number
  /** Returns the delay of a signal to one process, in milliseconds, or null if it is lost. Default: no delay. */
  readonly signalDelay?: () => number | null
  readonly started?: (engine: Engine<Services>) => void
  /** Called if a process could not start. */
  readonly failed: (cause: Cause.Cause<unknown>, engine: Engine<Services>) => void
}

/** One process that runs the services of core. */
export class Engine<Services> {
  readonly process: Process
  readonly #signals = new Mailbox<"signal">()
  readonly #changes = new Mailbox<{ readonly integrations: ReadonlyArray<IntegrationId> | null }>()
  readonly #scope = Scope.makeUnsafe()
  /** Context with the services, for fibers of this process; null while the services are not running. */
  #context: Context.Context<Services | EngineServices> | null = null

  constructor(process: Process) {
    this.process = process
  }

  get isReady(): boolean {
    return this.process.alive && this.#context !== null
  }

  start({ failed, layer, portsOf, started }: WorldOptions<Services>, rng: Rng, signal: () => void): void {
    const wake = Layer.succeed(WakeSignal, {
      signal: Effect.sync(signal),
      wait: Effect.asVoid(this.#signals.take),
      changes: Effect.map(this.#changes.take, ({ integrations }) => integrations)
    })
    const services = portsOf(this.process).pipe(
      Effect.flatMap((ports) => {
        const engine = engineLayer(ports, wake, seededCrypto(rng))
        return Layer.buildWithScope(Layer.fresh(Layer.provideMerge(layer, engine)), this.#scope)
      }),
      Scope.provide(this.#scope)
    )
    Effect.runForkWith(this.process.context)(services).addObserver((exit) => {
      if (Exit.isFailure(exit)) return failed(exit.cause, this)
      this.#context = Context.merge(exit.value, this.process.context)
      started?.(this)
    })
  }

  wake(): void {
    if (this.process.alive && this.#signals.isEmpty) this.#signals.put("signal")
  }

  /** Receives the ids of integrations that other processes have changed. Null means that any may have changed. */
  hear(changed: ReadonlyArray<IntegrationId> | null): void {
    if (this.process.alive) this.#changes.put({ integrations: changed })
  }

  /**
   * Runs an effect with the services, like a request to this process. If the process dies, `whenEnded` is not called.
   */
  run<A, E>(
    effect: Effect.Effect<A, E, Services | EngineServices>,
    whenEnded: (exit: Exit.Exit<A, E>) => void = () => {}
  ): void {
    if (this.#context !== null) Effect.runForkWith(this.#context)(effect).addObserver(whenEnded)
  }

  kill(): void {
    this.process.kill()
    this.#context = null
  }

  /** Shuts the process down cleanly. */
  close(whenClosed: () => void): void {
    this.#context = null
    Effect.runForkWith(this.process.context)(Scope.close(this.#scope, Exit.void)).addObserver(whenClosed)
  }
}

export class World<Services> {
  readonly #options: WorldOptions<Services>
  #engines: ReadonlyArray<Engine<Services>> = []
  #started = 0

  constructor(options: WorldOptions<Services>) {
    this.#options = options
  }

  get engines(): ReadonlyArray<Engine<Services>> {
    return this.#engines
  }

  get ready(): ReadonlyArray<Engine<Services>> {
    return this.#engines.filter(({ isReady }) => isReady)
  }

  start(): void {
    const { seed, signalDelay, skew, time } = this.#options
    const number = ++this.#started
    const own = new Rng(child(child(seed, "process"), number))
    const engine = new Engine<Services>(new Process(number, time, own, skew?.(own) ?? 0))
    this.#engines = [...this.#engines, engine]
    const crypto = new Rng(child(child(seed, "crypto"), number))
    engine.start(this.#options, crypto, () => {
      for (const other of this.#engines) {
        const delay = signalDelay?.()
        if (delay === undefined) other.wake()
        else if (delay !== null) time.after(delay, () => other.wake())
      }
    })
  }

  /** Returns the engine of a live process, else undefined. */
  of(process: Process): Engine<Services> | undefined {
    return this.#engines.find((engine) => engine.process === process && process.alive)
  }

  /** Kills an engine and removes it. */
  remove(engine: Engine<Services>): void {
    engine.kill()
    this.#engines = this.#engines.filter((other) => other !== engine)
  }
}
