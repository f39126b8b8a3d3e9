/**
 * A history in execution: what was minted, sent and seen so far, and the few ways to send. Operations (`Perform.ts`) use
 * nothing else.
 */
import type { Crypto } from "@doorhook/core"
import type { Effect, Redacted, Scope } from "effect"
import type { Exchange } from "../evidence/Exchange.ts"
import type { HttpRequest } from "../evidence/HttpRequest.ts"
import type { AttemptKind, Intervention, SentEvent, Shortfall, Trace } from "../evidence/Trace.ts"
import type { History } from "../history/History.ts"
import type { Given, MintedEvent, Minting } from "../history/Minting.ts"
import type { EventTemplate } from "../history/Template.ts"
import type { Variation } from "../history/Variations.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import type { Terms } from "../judgement/Terms.ts"
import type { Slots } from "./Slots.ts"
import type { TargetUnusable } from "./TargetUnusable.ts"
import type { Connection, Sending } from "../http/Wire.ts"

/** What the histories of one run share. */
export interface Setting {
  /** The receiver's URLs, first the one that most events go to. */
  readonly urls: readonly [URL, ...ReadonlyArray<URL>]
  readonly secret: Redacted.Redacted<string> | null
  readonly terms: Terms
  readonly hooks: Hooks
  /** What is done to the receiver, for the whole run: each is noted once, with its times. */
  readonly interventions: Array<Intervention>
  /** How many events the run has sent. */
  readonly sent: { count: number }
  /** Milliseconds since the run began, by a clock that never jumps. */
  readonly now: () => number
  /** What the hooks have started the receiver after in this run: they can do that. */
  readonly startedAfter: Set<"killed" | "running">
  /** By how many milliseconds the receiver's clock was moved forward: what is sent is stamped by it. */
  readonly clock: { ahead: number }
  readonly comeback: number
  /** How long an acknowledgement usually takes while nothing else is going on, in milliseconds, as far as is known. */
  readonly typical: () => number
  /** Waiting times are multiplied by this. */
  readonly pace: number
  /** Events a second; 0 where none was declared. */
  readonly peakRate: number
}

/** What differs from case to case. */
export interface Occasion {
  readonly title: string
  /** Waits until nothing else of the run is going on. */
  readonly allElseDone: Effect.Effect<void>
  /** The most time that `filler` and `volleys` take, in milliseconds: in the lane `last`, all that is left. */
  readonly fillerTime: number
}

/** An event of the history, with the stamp of its latest attempt. */
export interface Actor {
  /** Its place in the trace. */
  readonly event: number
  readonly minted: MintedEvent
  /** What the latest attempt said: its number and when it was signed, in milliseconds since the epoch. */
  attempt: number
  signedAt: number
  /** How often it was sent as an event. */
  sent: number
  acknowledged: boolean
}

/** What is said of an attempt before it is made. */
export interface About {
  readonly op: number
  readonly kind?: AttemptKind
  readonly raced?: boolean
  /** Whether it counts as a first attempt; where nothing is said, the first one does. */
  readonly first?: boolean
  readonly endpoint?: URL
  /** Milliseconds between the moment it was due and the moment it was made. */
  readonly overdue?: number
  /** Whether it goes beyond the cap of ten, or holds a slot already. */
  readonly slot?: "own" | "beyond"
}

export interface Execution {
  readonly setting: Setting
  readonly occasion: Occasion
  /** Events that can be referred to. */
  readonly actors: ReadonlyArray<Actor>
  /** The event that a reference stands for; null where none was sent yet. */
  readonly find: (ref: number) => Actor | null
  /** Milliseconds since the history began. */
  readonly now: () => number
  readonly mint: (
    template: EventTemplate,
    options?: Given & { readonly bulk?: boolean; readonly referable?: boolean }
  ) => Effect.Effect<Actor>
  /** The request of an event's next attempt, which its stamp follows. */
  readonly prepare: (actor: Actor, how: ReadonlyArray<Variation>) => Effect.Effect<HttpRequest, never, Crypto>
  /**
   * Sends an event as `how` says; over the history's own connection unless that says otherwise. Takes a slot. A refusal
   * with 429 or 503 beside others is sent again alone before it counts, unless it is one of several copies. Where a kept
   * connection is reset without an answer it is sent again over a new one, as a sender does; the first sending is recorded
   * as `cut`, and the second counts as the first attempt.
   */
  readonly send: (
    actor: Actor,
    how: ReadonlyArray<Variation>,
    about: About,
    over?: Connection
  ) => Effect.Effect<Exchange, TargetUnusable, Crypto>
  /** Sends a request as it is, over a connection of its own unless one is given, and records it. Takes a slot. */
  readonly sendRequest: (
    actor: Actor,
    request: HttpRequest,
    sending: Partial<Sending>,
    about: About,
    over?: Connection
  ) => Effect.Effect<Exchange, TargetUnusable>
  /** Sends once to a receiver that may be gone; null when nothing arrived. */
  readonly sendOnce: (actor: Actor, over: Connection, about: About) => Effect.Effect<Exchange | null, never, Crypto>
  /** Goes on beside the history, to its end at the latest. */
  readonly beside: (effect: Effect.Effect<unknown, TargetUnusable, Crypto>) => Effect.Effect<void, never, Crypto>
  /** Marks the latest attempt of an event as not the last of its row. */
  readonly markProvisional: (actor: Actor) => void
  /** Notes that something was done to the receiver, for this history and all that ran at the time. */
  readonly intervene: (
    op: number,
    what: Intervention["what"],
    from: number,
    more?: Pick<Intervention, "down" | "unended">
  ) => void
  /** Notes what was not done in full; nothing where all of it was. */
  readonly fallShort: (shortfall: Shortfall) => void
  readonly connection: Connection
}

/** What came of a history: its trace, and why it is not whole if the receiver could not be reached any more. */
export interface Executed {
  readonly trace: Trace
  readonly broke: TargetUnusable | null
}

/** Executes a history. */
export declare const execute: (
  history: History,
  setting: Setting,
  occasion: Occasion
) => Effect.Effect<Executed, never, Minting | Crypto | Slots>

/** For tests and the parts below: a history in execution, and what it has recorded. */
export declare const begin: (
  setting: Setting,
  occasion: Occasion
) => Effect.Effect<
  Execution & {
    readonly recorded: () => { readonly events: ReadonlyArray<SentEvent>; readonly trace: (history: History) => Trace }
  },
  never,
  Minting | Slots | Scope.Scope
>
