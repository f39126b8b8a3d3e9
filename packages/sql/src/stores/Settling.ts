/**
 * Records attempts and what follows from them, for their deliveries and for their integrations.
 */
import type { IntegrationId, IntegrationNotice, NewNotice, Notice, Settled, Settlement } from "@doorhook/core"
import { BuildingId, Consequences, Failing, Settling, Standing } from "@doorhook/core"
import { Effect, Result } from "effect"
import type { DeliveryTables, SettledRow } from "../DeliveryTables.ts"
import type { SubjectRow } from "../IntegrationRows.ts"
import { failingOf, subjectFromRow } from "../IntegrationRows.ts"
import type { Endings } from "./Endings.ts"
import { currentOf, move } from "./Moving.ts"
import { Tally } from "./Tally.ts"
import type { Telling } from "./Telling.ts"
import { explain } from "./Telling.ts"

type Tables = DeliveryTables["Service"]

/** What settlements work with. */
export interface Settlements {
  readonly tables: Tables
  readonly endings: Endings["Service"]
  readonly isTimeToTell: Telling
}

const byIntegration = <A>(items: Iterable<A>, idOf: (item: A) => IntegrationId): ReadonlyMap<IntegrationId, Array<A>> =>
  Map.groupBy(items, idOf)

/**
 * Some integrations, as far as their rows can be read. Of others the log tells: what is recorded of them has no
 * consequences until their rows are put right.
 */
const subjectsOf = Effect.fnUntraced(function* (
  { isTimeToTell, tables }: Settlements,
  ids: ReadonlyArray<IntegrationId>,
  now: number
) {
  const subjects = new Map<IntegrationId, Consequences.Subject>()
  const unreadable = new Set<IntegrationId>()
  for (const row of yield* tables.subjects(ids)) {
    const read = yield* Effect.result(subjectFromRow(row))
    if (Result.isSuccess(read)) {
      subjects.set(row.id, read.success)
      continue
    }
    unreadable.add(row.id)
    const fault = { name: `integration ${row.id}`, cause: read.failure }
    if (!isTimeToTell(fault, now)) continue
    yield* Effect.logError(
      `What becomes of deliveries is recorded, but an integration that can't be read is neither disabled nor enabled by ` +
        `it, and nobody is told that it fails. ${explain(fault)}`
    )
  }
  return { subjects, unreadable }
})

type Outline = Pick<SubjectRow, "status" | "disabled_reason" | "failing_since" | "failing_noticed">

/** What most integrations are. */
const sound: Outline = { status: "enabled", disabled_reason: null, failing_since: null, failing_noticed: 0 }

/** As much of an integration as says whether anything may follow for it; reading all of it takes longer. */
const outlineOf = (id: IntegrationId, row: Outline): Consequences.Subject => ({
  integration: {
    id,
    scope: { type: "building", id: BuildingId.make(1) },
    status: row.status === "enabled" ? "enabled" : "disabled",
    disabled_reason: row.disabled_reason === "manual" ? "manual" : null
  },
  failing: failingOf(row)
})

/**
 * The integrations of a batch, and which of them something may follow for: these are locked, before any delivery is. To be
 * disabled they are locked for change too, if that can be had at once: a host may publish in a transaction that stays open,
 * and everything else that is to be recorded and claimed would wait for it.
 */
const lock = Effect.fnUntraced(function* (
  context: Settlements,
  settlements: ReadonlyMap<IntegrationId, ReadonlyArray<Settlement>>,
  now: number,
  disableAfter: number
) {
  const { tables } = context
  const seen = new Map((yield* tables.subjects([...settlements.keys()])).map((row) => [row.id, row]))
  const affected: Array<IntegrationId> = []
  for (const [id, batch] of settlements) {
    const row = seen.get(id)
    if (row !== undefined && Consequences.mayHaveConsequences(outlineOf(id, row), batch)) affected.push(id)
  }
  if (affected.length > 0) yield* tables.lockIntegrations(affected)
  const { subjects: locked, unreadable } = yield* subjectsOf(context, affected, now)
  const wanted: Array<IntegrationId> = []
  for (const [id, subject] of locked)
    if (Consequences.mayDisable(subject, settlements.get(id) ?? [], now, disableAfter)) wanted.push(id)
  const free = new Set(wanted.length === 0 ? [] : yield* tables.lockFreeForChange(wanted))
  const isAffected = new Set(affected)
  return {
    affected: locked,
    /** Those that can't be disabled now, though they may have to be: somebody publishes to them, or they can't be read. */
    busy: new Set([...wanted.filter((id) => !free.has(id)), ...unreadable]),
    /** Why deliveries to an integration end; null where they may go on. Those that nothing can follow for are enabled. */
    toEnd: (id: IntegrationId) =>
      (seen.has(id) && !isAffected.has(id)) || unreadable.has(id)
        ? null
        : Standing.reasonToEnd(locked.get(id)?.integration)
  }
})

/** Whether two ways of failing are the same. */
const isSame = (one: Failing.Failing | null, other: Failing.Failing | null): boolean =>
  one?.since === other?.since && one?.noticed === other?.noticed

/** Keeps notices. */
export const writeNotices = Effect.fnUntraced(function* <Kind extends NewNotice>(
  tables: Pick<Tables, "insertNotices">,
  notices: ReadonlyArray<Kind>
) {
  if (notices.length === 0) return []
  const ids = yield* tables.insertNotices(notices)
  return notices.flatMap((notice, at): ReadonlyArray<Notice<Kind>> => {
    const id = ids[at]
    return id === undefined ? [] : [{ ...notice, id }]
  })
})

/** Tells of integrations that are due to be told of. Runs in a transaction. */
export const warnAll = Effect.fnUntraced(function* (
  context: Settlements,
  now: number,
  disableAfter: number,
  limit: number
) {
  const { tables } = context
  const due = yield* tables.toBeWarned(Failing.warnedSince(now, disableAfter), limit)
  if (due.length === 0) return []
  yield* tables.lockIntegrations(due)
  const notices: Array<IntegrationNotice> = []
  for (const [id, subject] of (yield* subjectsOf(context, due, now)).subjects) {
    const warning = Consequences.warningOf(subject, now, disableAfter)
    if (warning === null) continue
    yield* tables.setFailing(id, warning.failing)
    notices.push(warning.notice)
  }
  return yield* writeNotices(tables, notices)
})

/** Runs in a transaction. */
export const settleAll = Effect.fnUntraced(function* (
  context: Settlements,
  settlements: ReadonlyArray<Settlement>,
  now: number,
  disableAfter: number
) {
  const { endings, tables } = context
  const grouped = byIntegration(settlements, ({ integration_id }) => integration_id)
  const { affected, busy, toEnd } = yield* lock(context, grouped, now, disableAfter)
  const current = yield* currentOf(tables, settlements)
  const tally = new Tally()
  const moves = current.map(({ from, item }) => {
    const settlement = busy.has(from.integration_id) ? Settling.askedAgain(item, now) : item
    const to = Standing.settled(from, settlement, now, toEnd(from.integration_id))
    return { from, to, attempt: item.attempt, settlement }
  })
  yield* move(tables, tally, moves)
  const changed: Array<IntegrationId> = []
  const notices: Array<Notice<IntegrationNotice>> = []
  // Afterwards, so that what was acknowledged in the same batch stays so.
  const applied = byIntegration(moves, ({ from }) => from.integration_id)
  for (const id of [...affected.keys()].toSorted((a, b) => a - b)) {
    const [subject, batch] = [affected.get(id), applied.get(id)]
    if (subject === undefined || batch === undefined) continue
    const follows = Consequences.consequencesOf(subject, batch, now, disableAfter, !busy.has(id))
    if (!isSame(follows.failing, subject.failing)) yield* tables.setFailing(id, follows.failing)
    if (follows.disable !== null && (yield* tables.disableIntegration(id, follows.disable, now))) {
      changed.push(id)
      yield* endings.begin(id, Standing.reasonOfDisabled({ disabled_reason: follows.disable }))
    }
    if (follows.enable && (yield* tables.enableIntegration(id, now))) changed.push(id)
    notices.push(...(yield* writeNotices(tables, follows.notices)))
  }
  yield* tally.write(tables)
  const dueAgain = busy.size > 0 || moves.some(({ to }) => to.state === "pending")
  return { applied: new Set(current.map(({ from }) => from.id)), changed, notices, dueAgain }
})

/** A delivery under lease that nothing happened to since, which is the rule. */
const underLease = ({ lane, token }: Settlement): Standing.Standing => ({
  state: "delivering",
  reason: null,
  attempts: 0,
  lane,
  due_at: 0,
  lease_token: token,
  resend: 0
})

/** The same in one statement, as long as all is of that kind and nothing follows for any integration; null otherwise. */
export const settleAtOnce = Effect.fnUntraced(function* (
  tables: Tables,
  settlements: ReadonlyArray<Settlement>,
  now: number
) {
  const ids = new Set(settlements.map(({ delivery_id }) => delivery_id))
  if (tables.atOnce === null || ids.size < settlements.length) return null
  const grouped = byIntegration(settlements, ({ integration_id }) => integration_id)
  for (const [id, batch] of grouped) if (Consequences.mayHaveConsequences(outlineOf(id, sound), batch)) return null
  const tally = new Tally()
  const rows: Array<SettledRow> = []
  for (const settlement of settlements) {
    const { attempt, delivery_id: id, token } = settlement
    if (attempt === null) return null
    const to = Standing.settled(underLease(settlement), settlement, now, null)
    tally.move("delivering", to.state, 1)
    rows.push({ id, token, to, attempt })
  }
  if (!(yield* tables.atOnce.settle(rows, [...grouped.keys()], tally.all))) return null
  return { applied: ids, changed: [], notices: [], dueAgain: false } satisfies Settled
})
