/**
 * Idempotency records of publish calls. They decide whether a call is carried out, gets the earlier answer, or is
 * refused.
 */
import { Effect, Schema } from "effect"
import { EventId } from "../model/Ids.ts"
import type { IdempotencyRecord } from "../ports/IdempotencyStore.ts"
import { idempotencyTtl } from "../ports/IdempotencyStore.ts"
import type { IdempotentRequest } from "./Idempotency.ts"

/** An accepted event, and its number of deliveries, including skipped ones. */
export interface Published {
  readonly id: EventId
  readonly deliveries: number
}

/** The stored form of an answer. */
const Answer = Schema.fromJsonString(Schema.Array(Schema.Struct({ id: EventId, deliveries: Schema.Int })))
const encodeAnswer = Schema.encodeSync(Answer)

/** Reads a stored answer. An unreadable answer is a defect, because doorhook did not write it. */
export const decodeAnswer = ({ answer }: IdempotencyRecord): Effect.Effect<ReadonlyArray<Published>> =>
  Effect.orDie(Schema.decodeUnknownEffect(Answer)(answer))

/** Makes the record for a call that is carried out at `now`. */
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

/** The calls of a batch, grouped by how they are handled. */
export interface Partitioned<Call> {
  readonly fresh: ReadonlyArray<Call>
  /** Calls that repeat an earlier request with a stored record. */
  readonly replayed: ReadonlyArray<{ readonly call: Call; readonly as: IdempotencyRecord }>
  /** Calls that repeat a fresh call of this batch. */
  readonly repeated: ReadonlyArray<{ readonly call: Call; readonly of: Call }>
  /** Calls whose key was used for a different request. */
  readonly refused: ReadonlyArray<Call>
}

/** Groups the calls of a batch, given the stored records for their keys. */
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
