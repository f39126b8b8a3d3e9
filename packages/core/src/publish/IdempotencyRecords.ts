/**
 * Idempotency records of publications: calls with an idempotency key are carried out, answered as before, or refused.
 */
import { Effect, Schema } from "effect"
import { EventId } from "../model/Ids.ts"
import type { IdempotencyRecord } from "../ports/IdempotencyStore.ts"
import { idempotencyTtl } from "../ports/IdempotencyStore.ts"
import type { IdempotentRequest } from "./Idempotency.ts"

/** An event that was accepted, and to how many integrations it goes (skipped ones included). */
export interface Published {
  readonly id: EventId
  readonly deliveries: number
}

/** The answer to a call, as it is remembered. */
const Answer = Schema.fromJsonString(Schema.Array(Schema.Struct({ id: EventId, deliveries: Schema.Int })))
const encodeAnswer = Schema.encodeSync(Answer)

/** Reads a remembered answer. What can't be read was not written by doorhook. */
export const decodeAnswer = ({ answer }: IdempotencyRecord): Effect.Effect<ReadonlyArray<Published>> =>
  Effect.orDie(Schema.decodeUnknownEffect(Answer)(answer))

/** What is remembered of a call that is carried out at a time. */
export const makeRecord = (
  request: IdempotentRequest,
  published: ReadonlyArray<Published>,
  now: number
): IdempotencyRecord => ({
  ...request,
  answer: encodeAnswer(published),
  created_at: now,
  expires_at: now + idempotencyTtl
})

/** Calls of one batch, by what becomes of them. */
export interface Partitioned<Call> {
  readonly fresh: ReadonlyArray<Call>
  /** Answered as the same request was, which is remembered. */
  readonly replayed: ReadonlyArray<{ readonly call: Call; readonly as: IdempotencyRecord }>
  /** Answered as the same request is that is fresh in this batch. */
  readonly repeated: ReadonlyArray<{ readonly call: Call; readonly of: Call }>
  /** Under a key that another request has. */
  readonly refused: ReadonlyArray<Call>
}

/** Sorts a batch, given which of its keys are remembered. */
export const partitionByKey = <Call extends { readonly request: IdempotentRequest | null }>(
  calls: ReadonlyArray<Call>,
  remembered: ReadonlyArray<IdempotencyRecord>
): Partitioned<Call> => {
  const known = new Map(remembered.map((each) => [each.key, each]))
  const first = new Map<string, Call>()
  const fresh: Array<Call> = []
  const replayed: Array<{ readonly call: Call; readonly as: IdempotencyRecord }> = []
  const repeated: Array<{ readonly call: Call; readonly of: Call }> = []
  const refused: Array<Call> = []
  for (const call of calls) {
    const { request } = call
    const as = request === null ? undefined : known.get(request.key)
    const of = request === null ? undefined : first.get(request.key)
    const before = as ?? of?.request
    if (request === null || before === undefined || before === null) {
      fresh.push(call)
      if (request !== null) first.set(request.key, call)
    } else if (before.fingerprint !== request.fingerprint) refused.push(call)
    else if (as !== undefined) replayed.push({ call, as })
    else if (of !== undefined) repeated.push({ call, of })
  }
  return { fresh, replayed, repeated, refused }
}
