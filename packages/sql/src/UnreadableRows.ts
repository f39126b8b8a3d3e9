/**
 * Rows that can't be decoded, because another program has damaged or deleted them. The rule: a claimed delivery whose
 * event or integration can't be read is cancelled with the reason `row_unreadable`, and all others continue.
 * `doctor` lists the rows and counts the deliveries.
 */
import type { DeliveryId } from "@doorhook/core"
import { rootMessage } from "@doorhook/core"
import { Effect, Result, Redacted } from "effect"
import * as IntegrationReader from "./IntegrationReader.ts"
import type { IntegrationRow } from "./IntegrationRows.ts"
import { adviceOn } from "./StoreFailure.ts"

/** Maximum number of deliveries named in one log line. */
const maxNamed = 5

/** A delivery that needs an unreadable row. */
export interface Unsendable {
  readonly id: DeliveryId
  readonly row: string
  /** Why the row can't be read; undefined if it is missing. */
  readonly cause: unknown
}

const explain = ({ cause, row }: Unsendable): string => {
  if (cause === undefined) return `${row} is missing: another program has deleted it. Restore a backup.`
  const said = rootMessage(cause)
  return `${said.startsWith(row) ? said : `${row}: ${said}`}; ${adviceOn(cause) ?? "find out what changed it."}`
}

const idsIn = (ids: ReadonlyArray<DeliveryId>): string =>
  ids.length > maxNamed ? `${ids.slice(0, maxNamed).join(", ")} and ${ids.length - maxNamed} more` : ids.join(", ")

/** Logs the deliveries of a claim that were cancelled, one line for each row. */
export const logUnsendable = (unsendable: ReadonlyArray<Unsendable>): Effect.Effect<void> =>
  Effect.forEach(
    Map.groupBy(unsendable, ({ row }) => row).values(),
    (group) =>
      Effect.logError(
        `Deliveries were cancelled, because their event or integration can't be read (${idsIn(group.map(({ id }) => id))}). ` +
          `After a repair, send them with doorhook deliveries recover. ${group[0] === undefined ? "" : explain(group[0])}`
      ),
    { discard: true }
  )

/** Maximum number of integrations and of cancelled deliveries that an inspection reads. */
export const maxInspected = 100_000

/** Counts the deliveries among the newest cancelled ones that needed an unreadable row. */
export const failedReads = (cancelled: string): string => `SELECT count(*) AS count
  FROM (SELECT reason FROM deliveries WHERE ${cancelled} ORDER BY id DESC LIMIT ${maxInspected}) AS d
  WHERE reason = 'row_unreadable'`

/** Returns what is wrong with the rows that can't be read. Secrets are not decrypted. */
export const unreadableAmong = (rows: ReadonlyArray<IntegrationRow>): Effect.Effect<ReadonlyArray<string>> => {
  const reader = IntegrationReader.make({
    isExposed: () => false,
    seal: Redacted.value,
    open: (stored) => Effect.succeed(Redacted.make(stored))
  })
  return Effect.map(
    Effect.forEach(rows, (row) => Effect.result(reader.read(row))),
    (read) => read.flatMap((each) => (Result.isFailure(each) ? each.failure.message : []))
  )
}
