/**
 * The port through which the suite operates a receiver. Each hook may be missing; what needs it is then not observable.
 * State on disk stays, whatever is done.
 */
import { Effect, Schema } from "effect"

/** A hook did not do what it was asked for, or the receiver did not come back. */
export class HookFailed extends Schema.TaggedError<HookFailed>()("HookFailed", {
  /** Which hook, what came of it, what to do. */
  message: Schema.String,
  /** Why the receiver is not there although the hook did its part; missing where the hook may be at fault. */
  down: Schema.optionalKey(Schema.String)
}) {}

type Act = Effect.Effect<void, HookFailed>

export interface Hooks {
  /** Ends the receiver if it runs, and starts it. */
  readonly restart: Act | null
  /** SIGKILL, and nothing more. */
  readonly kill: Act | null
  /** SIGSTOP and SIGCONT, or what comes to the same. */
  readonly pause: Act | null
  readonly resume: Act | null
  /** Moves the receiver's clock forward by this many milliseconds. */
  readonly advance: ((milliseconds: number) => Act) | null
  /** Makes the receiver record one more effect of an event, to find out a probe that can't count past one. */
  readonly double: ((webhookId: string) => Act) | null
  /** Waits until the receiver is ready again after a restart. */
  readonly ready: Act
  /** Whether what starts the receiver has started it before: one that does not start then does so by its own fault. */
  readonly startsIt: boolean
  /** How each hook is called, for reports: by its name. */
  readonly names: Readonly<Record<string, string>>
}

/** A receiver that can't be operated. */
export const noHooks: Hooks = {
  restart: null,
  kill: null,
  pause: null,
  resume: null,
  advance: null,
  double: null,
  ready: Effect.void,
  startsIt: false,
  names: {}
}
