/**
 * What the suite saw of a sender: every request, in order, and what it was answered.
 */
import type { Treatment } from "./Treatment.ts"

/** One request. Times in milliseconds since the host began to listen. */
export interface SeenAttempt {
  readonly at: number
  /** By the host's clock, in milliseconds since the epoch. */
  readonly wallClock: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
  /** What was answered; null for a request that nobody should have made. */
  readonly treatment: Treatment | null
  /** When the sender closed the connection before the answer; null when it did not. */
  readonly gaveUpAfter: number | null
}

/** All requests about one event: those with the same webhook-id or the same body. */
export interface SeenEvent {
  /** Counted from 1. */
  readonly number: number
  readonly attempts: ReadonlyArray<SeenAttempt>
}

export interface Observation {
  readonly events: ReadonlyArray<SeenEvent>
  /** Requests to where redirects lead. */
  readonly strays: ReadonlyArray<SeenAttempt>
}

export const webhookIdOf = ({ headers }: SeenAttempt): string => headers["webhook-id"] ?? ""
