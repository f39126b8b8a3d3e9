/**
 * Makes deliveries due again at an operator's request.
 */
import type { DeliveryId, DeliveryStore, IntegrationId, RedeliverRequest, RedeliverResult } from "@doorhook/core"
import { StoreRules } from "@doorhook/core"
import { Effect } from "effect"
import { failAs, failAsBegun } from "../StoreFailure.ts"
import type { SqliteCancellations } from "./Cancellations.ts"
import { deliveryId, integrationId, laneOf } from "./Columns.ts"
import * as Sql from "./DeliverySql.ts"
import { codes } from "./DeliverySql.ts"
import type { FileOwner } from "./FileOwner.ts"
import { isOpen } from "./FileOwnerState.ts"

/** Maximum number of deliveries that one transaction makes due, in about ten milliseconds. */
const redeliveryBatch = 1_000

const { isRecovered, redelivered, refused, refusalOf } = StoreRules

type Redeliver = DeliveryStore["Service"]["redeliver"]
type Recovery = Extract<RedeliverRequest, { readonly type: "integration" }>

export const makeRedeliver = (
  { change, known, state, turns }: FileOwner,
  { finish, finishNow }: SqliteCancellations
): Redeliver => {
  const { leases } = state
  const q = {
    standing: turns.prepare(Sql.standing),
    keepEndingAttempt: turns.prepare(Sql.keepEndingAttempt),
    revive: turns.prepare(Sql.requeue),
    recoverable: turns.prepare(Sql.recoverable),
    newestUnacknowledged: turns.prepare(Sql.newestUnacknowledged)
  }

  /** Makes a delivery in any state due. Returns false if the delivery does not exist. */
  const resend = (id: DeliveryId, now: number): boolean => {
    const lease = leases.get(id)
    if (lease !== undefined && isOpen(lease.state)) {
      const { due_at, resend: before } = lease
      state.undo(() => Object.assign(lease, { due_at, resend: before }))
      Object.assign(lease, { due_at: Math.min(due_at, now), resend: 2 })
      return true
    }
    const row = q.standing.get(id)
    if (row === undefined) return false
    const [integration, from, lane] = [integrationId(row[0]), Number(row[1]), laneOf(row[3])]
    state.move(from, codes.pending)
    if (isOpen(from)) state.noteGone(lane, integration, Number(row[7]))
    else q.keepEndingAttempt.run(id)
    q.revive.run(now, id)
    if (lease === undefined) state.noteDue(lane, integration, now, id)
    else {
      // The delivery was cancelled during an attempt that may still be running. It is due again when the attempt ends.
      state.unlease([lease])
      state.lease({ ...lease, state: codes.pending, due_at: now, stored_due_at: now, resend: 2 })
    }
    return true
  }

  const redeliverOne = (id: DeliveryId, now: number): RedeliverResult => {
    const row = q.standing.get(id)
    if (row === undefined) return refused("not_found")
    const refusal = refusalOf("delivery", known.get(integrationId(row[0]))?.row)
    if (refusal !== null) return refused(refusal)
    resend(id, now)
    return redelivered(1, id)
  }

  /**
   * Makes due a batch of an integration's deliveries that follow an id. Returns their number and the id to continue
   * after, or why it can't.
   */
  const redeliverSome = (request: Recovery, now: number, after: number) => {
    const { id } = request
    const why = refusalOf("integration", known.get(id)?.row)
    if (why !== null) return { why, count: 0, next: null }
    const rows = q.recoverable.all(id, after, redeliveryBatch)
    const last = rows.at(-1)
    let count = 0
    for (const row of rows) {
      const delivery = deliveryId(row[0])
      const lease = leases.get(delivery)
      const event = { created_at: Number(row[1] ?? 0), resource_type: row[2] === null ? null : String(row[2]) }
      if (!isRecovered(request, event) || (lease !== undefined && isOpen(lease.state))) continue
      if (resend(delivery, now)) count++
    }
    return { why, count, next: rows.length === redeliveryBatch && last !== undefined ? Number(last[0]) : null }
  }

  const redeliverAll = Effect.fnUntraced(function* (request: Recovery, now: number, note: () => void) {
    let [count, after]: [number, number | null] = [0, 0]
    let why: StoreRules.Refusal | null = null
    while (after !== null) {
      const from: number = after
      const part: ReturnType<typeof redeliverSome> = yield* turns.change({
        run: () => redeliverSome(request, now, from),
        isDurable: true,
        rows: redeliveryBatch
      })
      why = part.why
      count += part.count
      if (part.count > 0) note()
      after = part.next
      // Gives other work a chance to use the connection.
      yield* Effect.yieldNow
    }
    return why !== null && count === 0 ? refused(why) : redelivered(count, null)
  })

  const probe = (id: IntegrationId, now: number): RedeliverResult => {
    const refusal = refusalOf("probe", known.get(id)?.row)
    if (refusal !== null) return refused(refusal)
    finishNow(id)
    let before = Number.MAX_SAFE_INTEGER
    for (;;) {
      const rows = q.newestUnacknowledged.all(id, before, 100)
      const free = rows.find((each) => !leases.has(deliveryId(each[0])))
      if (free !== undefined) {
        const delivery = deliveryId(free[0])
        resend(delivery, now)
        return redelivered(1, delivery)
      }
      const last = rows.at(-1)
      if (last === undefined) return refused("nothing_to_send")
      before = Number(last[0])
    }
  }

  return (request, now) => {
    switch (request.type) {
      case "delivery":
        return change("redeliver", () => redeliverOne(request.id, now))
      case "integration":
        return Effect.suspend(() => {
          let isBegun = false
          const note = () => {
            isBegun = true
          }
          return failAsBegun("DeliveryStore.redeliver", () => isBegun)(redeliverAll(request, now, note))
        })
      case "probe":
        return Effect.andThen(
          failAs("DeliveryStore.redeliver")(finish(request.id)),
          change("redeliver", () => probe(request.id, now))
        )
    }
  }
}
