/**
 * Where histories are executed, and how.
 */
import type { Effect, Redacted } from "effect"
import type { Terms } from "../checks/Terms.ts"
import type { Hooks } from "../hooks/Hooks.ts"

/** The URLs of a receiver, first the one that most events go to. */
export const urlsOf = ({ otherUrls, url }: Pick<Setting, "otherUrls" | "url">): ReadonlyArray<string> =>
  [url, ...otherUrls].map(({ href }) => href)

export interface Setting {
  readonly url: URL
  /** The receiver's other URLs. */
  readonly otherUrls: ReadonlyArray<URL>
  readonly secret: Redacted.Redacted<string> | null
  readonly terms: Terms
  readonly hooks: Hooks
  /** What the receiver has been started after in this run, by the hooks: they can do that. */
  readonly startedAfter: Set<"killed" | "running">
  /** By how many milliseconds the receiver's clock was moved forward in this run: what is sent is stamped by it. */
  readonly clock: { ahead: number }
  /** How long a receiver that does not start again is tried to be started, in milliseconds. */
  readonly comeback: number
  /** How long an acknowledgement usually takes while nothing else is going on, in milliseconds, as far as is known. */
  readonly typical: () => number
  /** Waits until nothing else of the run is going on. */
  readonly allElseDone: Effect.Effect<void>
  /** Waiting times are multiplied by this. */
  readonly pace: number
  /** Events a second; 0 where none was declared. */
  readonly peakRate: number
  /** The most time that filling takes, in milliseconds. */
  readonly fillerTime: number
}
