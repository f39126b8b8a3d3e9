/**
 * Deliveries that can't be sent because the row of their event or of their integration can't be read, or is not there:
 * something else than doorhook has written it. They wait, and are looked at again; all others are sent meanwhile.
 */
import type { DeliveryId, EventId, IntegrationId } from "@doorhook/core"
import { Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { StandingRow } from "../DeliveryRows.ts"
import type { DeliveryTables } from "../DeliveryTables.ts"
import { move } from "./Moving.ts"
import type { Tally } from "./Tally.ts"
import type { Fault } from "./Telling.ts"
import { explain, makeTelling, quietTime } from "./Telling.ts"

/** How long such a delivery waits until it is looked at again, in milliseconds: then it is time to tell of it again, too. */
const putOffFor = quietTime

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

interface Sources {
  readonly events: Readable<EventId, unknown>
  readonly integrations: Readable<IntegrationId, unknown>
}

const faultOf = ({ event_id, integration_id }: StandingRow, { events, integrations }: Sources): Fault =>
  events.found.has(event_id)
    ? { name: `integration ${integration_id}`, cause: integrations.faults.get(integration_id) }
    : { name: `event ${event_id}`, cause: events.faults.get(event_id) }

const idsIn = (ids: ReadonlyArray<DeliveryId>): string =>
  ids.length > maxNamed ? `${ids.slice(0, maxNamed).join(", ")} and ${ids.length - maxNamed} more` : ids.join(", ")

/** Puts off what was claimed and can't be sent, and tells of each row once in a while. */
export const makePuttingOff = () => {
  const isTimeToTell = makeTelling()

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
    for (const rows of faults.values()) {
      const [first] = rows
      if (first === undefined || !isTimeToTell(faultOf(first, sources), now)) continue
      yield* Effect.logError(
        `Deliveries wait because what they are made of can't be read, and are looked at again in ${putOffFor / 1_000} s ` +
          `(${idsIn(rows.map(({ id }) => id))}). ${explain(faultOf(first, sources))}`
      )
    }
  })
}

export type PutOff = ReturnType<typeof makePuttingOff>
