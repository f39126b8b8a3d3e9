/**
 * Compares a worker's settings with the stored ones (core's `delivery/Agreement`).
 *
 * Every member's settings are the stored ones: a worker becomes a member only while it has locked the stored row, and
 * the row is replaced by a heartbeat only if there is no other member. A locked row is skipped instead of awaited, so a
 * machine that vanishes within a heartbeat does not stop the others.
 */
import type { ResourceTypeTable } from "@doorhook/core"
import { AgreedSettings } from "@doorhook/core"
import { Effect } from "effect"
import { writeResourceTypes } from "./migrations/PublishFunction.ts"
import type { Sql } from "./Moves.ts"

const { agreedName, decodeAgreed, differencesOf, encodeAgreed, mayReplace, replacing } = AgreedSettings

interface Row {
  readonly value: string
}

const stored = `SELECT value FROM settings WHERE name = '${agreedName}'`
const insert = `INSERT INTO settings (name, value) VALUES ('${agreedName}', $1) ON CONFLICT (name) DO NOTHING`
const replace = `UPDATE settings SET value = $1 WHERE name = '${agreedName}'`
const otherMembers = `SELECT 1 FROM members WHERE until > $1 AND worker <> $2 LIMIT 1`

interface Worker {
  readonly worker: string
  /** Members whose end is later count as such; 0 for all, while the clock can't be relied on. */
  readonly now: number
  readonly isMember: boolean
}

/** Returns how the settings disagree; undefined if they are the stored ones. Runs in the transaction of a heartbeat. */
export const agree = Effect.fnUntraced(function* (
  sql: Sql,
  own: AgreedSettings.AgreedSettings,
  types: ResourceTypeTable,
  { isMember, now, worker }: Worker
) {
  const read = (lock: string) =>
    Effect.map(sql.unsafe<Row>(`${stored}${lock}`), ([row]) => (row === undefined ? null : decodeAgreed(row.value)))

  if ((yield* read("")) === null) yield* sql.unsafe(insert, [encodeAgreed(own)])
  const current = (yield* read("")) ?? own
  const isSame = differencesOf(current, own).length === 0
  if (isMember) return isSame ? undefined : { stored: current, isReplaced: false }
  const locked = yield* read(isSame ? " FOR SHARE SKIP LOCKED" : " FOR UPDATE SKIP LOCKED")
  const known = locked ?? current
  const differs = differencesOf(known, own).length > 0
  const mayJoin =
    locked !== null &&
    (!differs || (!isSame && mayReplace(known, own) && (yield* sql.unsafe(otherMembers, [now, worker])).length === 0))
  if (!mayJoin) return { stored: known, isReplaced: false }
  if (differs) yield* sql.unsafe(replace, [encodeAgreed(replacing(known, own))])
  yield* writeResourceTypes(sql, types, { isAgreed: true })
  return differs ? { stored: known, isReplaced: true } : undefined
})
