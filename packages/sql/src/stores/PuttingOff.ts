/**
 * Deliveries that can't be sent because the row of their event or of their integration can't be read, or is not there:
 * something else than doorhook has written it. They wait, and are looked at again; all others are sent meanwhile.
 */
import type { DeliveryId, EventId, IntegrationId } from "@doorhook/core"
import { RecentMap, rootMessage, Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { StandingRow } from "../DeliveryRows.ts"
import type { DeliveryTables } from "../DeliveryTables.ts"
import { adviceOn } from "../StoreFailure.ts"
import { move } from "./Moving.ts"
import type { Tally } from "./Tally.ts"

/** How long such a delivery waits until it is looked at again, and until the same row is told of again, in milliseconds. */
const putOffFor = 60_000

/** How many rows are remembered as told of. */
const maxRemembered = 10_000

/** How many rows a line of the log names. */
const maxNamed = 5

/** What stands in rows, as far as it can be read. */
export interface Readable<Id, A> {
  readonly found: ReadonlyMap<Id, A>
  readonly faults: ReadonlyMap<Id, unknown>
}

const byId = <A extends { readonly id: unknown }>(all: ReadonlyArray<A>): ReadonlyMap<A["id"], A> =>
  new Map(all.map((each) => [each.id, each]))

/** Reads rows all at once, and where that fails one by one. */
export const readable = <Row extends { readonly id: unknown }, A extends { readonly id: Row["id"] }, E>(
  rows: ReadonlyArray<Row>,
  readAll: (rows: ReadonlyArray<Row>) => Effect.Effect<ReadonlyArray<A>, E>
): Effect.Effect<Readable<Row["id"], A>> =>
  readAll(rows).pipe(
    Effect.map((all) => ({ found: byId(all), faults: new Map() })),
    Effect.catch(() => readEach(rows, readAll))
  )

const readEach = Effect.fnUntraced(function* <
  Row extends { readonly id: unknown },
  A extends { readonly id: Row["id"] },
  E
>(rows: ReadonlyArray<Row>, readAll: (rows: ReadonlyArray<Row>) => Effect.Effect<ReadonlyArray<A>, E>) {
  const found: Array<A> = []
  const faults = new Map<Row["id"], unknown>()
  for (const row of rows) {
    yield* Effect.match(readAll([row]), {
      onSuccess: (read) => found.push(...read),
      onFailure: (cause) => faults.set(row.id, cause)
    })
  }
  return { found: byId(found), faults }
})

/** A row that a delivery can't do without. */
interface Fault {
  readonly name: string
  /** Undefined: it is not there. */
  readonly cause: unknown
}

interface Sources {
  readonly events: Readable<EventId, unknown>
  readonly integrations: Readable<IntegrationId, unknown>
}

const faultOf = ({ event_id, integration_id }: StandingRow, { events, integrations }: Sources): Fault =>
  events.found.has(event_id)
    ? { name: `integration ${integration_id}`, cause: integrations.faults.get(integration_id) }
    : { name: `event ${event_id}`, cause: events.faults.get(event_id) }

const explain = ({ cause, name }: Fault): string => {
  if (cause === undefined) return `${name} is not there: something else than doorhook has deleted it. Restore a backup.`
  const said = rootMessage(cause)
  return `${said.startsWith(name) ? said : `${name}: ${said}`}; ${adviceOn(cause) ?? "see what has changed it."}`
}

const idsIn = (ids: ReadonlyArray<DeliveryId>): string =>
  ids.length > maxNamed ? `${ids.slice(0, maxNamed).join(", ")} and ${ids.length - maxNamed} more` : ids.join(", ")

/** Puts off what was claimed and can't be sent, and tells of each row once in a while. */
export const makePuttingOff = () => {
  const toldAt = new RecentMap<string, number>(maxRemembered)

  return Effect.fnUntraced(function* (
    tables: DeliveryTables["Service"],
    tally: Tally,
    claimed: ReadonlyArray<StandingRow>,
    sources: Sources,
    now: number
  ) {
    yield* move(
      tables,
      tally,
      claimed.map((from) => ({ from, to: Standing.released(from, now + putOffFor) }))
    )
    const faults = Map.groupBy(claimed, (row) => faultOf(row, sources).name)
    for (const [name, rows] of faults) {
      const [first] = rows
      if (first === undefined || now - (toldAt.get(name) ?? Number.NEGATIVE_INFINITY) < putOffFor) continue
      toldAt.set(name, now)
      yield* Effect.logError(
        `Deliveries wait because what they are made of can't be read, and are looked at again in ${putOffFor / 1_000} s ` +
          `(${idsIn(rows.map(({ id }) => id))}). ${explain(faultOf(first, sources))}`
      )
    }
  })
}

export type PutOff = ReturnType<typeof makePuttingOff>
