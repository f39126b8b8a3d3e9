/**
 * The rows that a move copies from one database to another, independent of how each database stores them. Indexes, counts
 * and lists that follow from these rows are made again by the target.
 */
import type { AgreedSettings, BuildingMoves } from "@doorhook/core"

/** `answer`: text of a receiver, which PostgreSQL stores in another form if it contains NUL. */
type ColumnType = "integer" | "text" | "answer"

export interface MovedTable {
  readonly name: string
  /** The column that orders the rows. */
  readonly key: string
  /** Further columns that order rows with the same key. */
  readonly order: ReadonlyArray<string>
  readonly columns: Readonly<Record<string, ColumnType>>
  /** The column that may be long, so that a part of few rows can be large. */
  readonly weight?: string
}

const table = (
  name: string,
  key: string,
  columns: Readonly<Record<string, ColumnType>>,
  more: Partial<Pick<MovedTable, "order" | "weight">> = {}
): MovedTable => ({
  name,
  key,
  order: [],
  columns,
  ...more
})

const [integer, text, answer] = ["integer", "text", "answer"] as const

/** All tables, in the order in which they are copied: a delivery's event comes before the delivery. */
export const movedTables = [
  table("clients", "id", { id: text, name: text, redirect_uris: text, secrets: text, jwks: text, created_at: integer }),
  table("grants", "id", {
    id: text,
    user_id: text,
    client_id: text,
    scope: text,
    created_at: integer,
    revoked_at: integer,
    resource: text
  }),
  table("codes", "hash", {
    hash: text,
    grant_id: text,
    client_id: text,
    redirect_uri: text,
    redirect_uri_given: integer,
    code_challenge: text,
    expires_at: integer,
    used_at: integer
  }),
  table("access_tokens", "seq", {
    seq: integer,
    grant_id: text,
    hash: text,
    created_at: integer,
    expires_at: integer,
    scope: text,
    retires: text,
    resource: text
  }),
  table("refresh_tokens", "hash", {
    hash: text,
    grant_id: text,
    created_at: integer,
    rotated_at: integer,
    retired_at: integer,
    used_at: integer
  }),
  table("assertions", "id", { id: text, expires_at: integer }),
  table("integrations", "id", {
    id: integer,
    scope_type: text,
    scope_id: integer,
    integrator: text,
    url: text,
    method: text,
    bindings: text,
    status: text,
    disabled_reason: text,
    created_by_user: text,
    created_by_client: text,
    signing_secret: text,
    previous_secrets: text,
    overrides: text,
    failing_since: integer,
    failing_noticed: integer,
    failing_attempts: integer,
    failing_retry_after: integer,
    version: integer,
    created_at: integer,
    updated_at: integer,
    name: text,
    description: text,
    detail: text,
    subscription: text,
    grant_id: text
  }),
  table(
    "events",
    "seq",
    {
      seq: integer,
      id: text,
      resource_type: text,
      action: text,
      building_id: integer,
      tenant_ids: text,
      created_at: integer,
      first_delivery: integer,
      last_delivery: integer,
      data: text
    },
    { weight: "data" }
  ),
  // A lease is not copied: a leased delivery waits for its next attempt.
  table("deliveries", "id", {
    id: integer,
    integration: integer,
    event_id: text,
    created_at: integer,
    state: text,
    reason: text,
    lane: integer,
    attempts: integer,
    early: integer,
    resend: integer,
    due_at: integer,
    attempt_started_at: integer,
    attempt_duration_ms: integer,
    attempt_outcome: text,
    attempt_status: integer,
    attempt_detail: answer,
    attempt_excerpt: answer
  }),
  table(
    "attempts",
    "delivery_id",
    {
      delivery_id: integer,
      number: integer,
      started_at: integer,
      duration_ms: integer,
      outcome: text,
      status: integer,
      detail: answer,
      response_excerpt: answer
    },
    { order: ["number"] }
  ),
  table(
    "purged",
    "source_id",
    { source_type: text, source_id: integer, resource_type: text, position: integer, created_at: integer },
    { order: ["source_type", "resource_type"] }
  ),
  table("cancellations", "integration", { integration: integer, last_delivery: integer, reason: text }),
  table("notices", "id", {
    id: integer,
    kind: text,
    integration_id: integer,
    scope_type: text,
    scope_id: integer,
    at: integer,
    details: text
  }),
  table(
    "idempotency_keys",
    "key",
    { key: text, fingerprint: text, answer: text, created_at: integer, expires_at: integer },
    { weight: "answer" }
  ),
  table("settings", "name", { name: text, value: text })
] as const satisfies ReadonlyArray<MovedTable>

const named = (...names: ReadonlyArray<string>): ReadonlyArray<MovedTable> =>
  movedTables.filter(({ name }) => names.includes(name))

const [events, deliveries, attempts] = [movedTables[7], movedTables[8], movedTables[9]]

/**
 * What a move of buildings copies while both databases are in use: what can't be sent any more. Of the deliveries only
 * those that are over.
 */
export const historyTables = [events, deliveries, attempts] as const

/**
 * What makes buildings alive in a database: their integrations and deliveries that are not over. A cancellation comes
 * before the deliveries that it covers.
 */
export const arrivingTables: ReadonlyArray<MovedTable> = [
  ...named("integrations", "purged", "cancellations", "notices"),
  { ...deliveries, name: "open_deliveries" }
]

/** What belongs to no building. A move of buildings adds the rows that the target lacks. */
export const sharedTables = named(
  "clients",
  "grants",
  "codes",
  "access_tokens",
  "refresh_tokens",
  "assertions",
  "idempotency_keys"
)

/** The same for a target whose clients and tokens are in a database that the cells share. */
export const keysOnly = named("idempotency_keys")

/** The rows of a move of buildings, in a database that has others. */
export interface Share extends BuildingMoves.Selection {
  /**
   * In the target, the number from which it numbers its own rows: rows below whose event is missing were copied, too, and
   * their event was not yet. Null in the source.
   */
  readonly copyBelow: number | null
  /** Ids of the integrations, also of deleted ones with deliveries that are not over. */
  readonly integrations: ReadonlyArray<number>
}

/** SQL: whether an id is in ranges. */
export const isIn = (column: string, ranges: ReadonlyArray<BuildingMoves.Range>): string =>
  ranges.length === 0
    ? "FALSE"
    : `EXISTS (SELECT 1 FROM (VALUES ${ranges.map(([first, last]) => `(${first}, ${last})`).join(", ")}) AS r
        WHERE ${column} BETWEEN r.column1 AND r.column2)`

/**
 * Whether a delivery is of a building of a share. `event` is a query for its event `o`, up to a further condition. In a
 * target, a delivery that was copied counts before its event is there.
 */
export const isOfBuildings = ({ buildings, copyBelow }: Share, id: string, event: string): string => {
  const isOurs = isIn("o.building_id", buildings)
  return copyBelow === null
    ? `EXISTS (${event} ${isOurs})`
    : `(${id} < ${copyBelow} AND NOT EXISTS (${event} NOT ${isOurs}))`
}

const isOneOf = (column: string, ids: ReadonlyArray<number>): string =>
  ids.length === 0 ? "FALSE" : `${column} IN (${ids.join(", ")})`

/** SQL: whether a row of a table without deliveries belongs to a share. `key`: the name of the table's key. */
export const belongs = ({ name }: MovedTable, key: string, { buildings, integrations, tenants }: Share): string => {
  const ofScope = (type: string, id: string): string =>
    `(${type} = 'building' AND ${isIn(id, buildings)}) OR (${type} = 'tenant' AND ${isIn(id, tenants)})`
  switch (name) {
    case "events":
      return isIn("building_id", buildings)
    case "integrations":
      return `(${ofScope("scope_type", "scope_id")})`
    case "purged":
      return `(${ofScope("source_type", "source_id")} OR (source_type = 'integration' AND ${isOneOf("source_id", integrations)}))`
    case "cancellations":
      return isOneOf(key, integrations)
    case "notices":
      return isOneOf("integration_id", integrations)
    default:
      return "TRUE"
  }
}

/** A tenant of events, or of integrations that no event names. */
export interface FoundTenant {
  readonly tenant: number
  /** Number of its events in the buildings of a share, and in others. */
  readonly inside: number
  readonly outside: number
  readonly isBound: boolean
}

/** A key of a table. */
export type Key = number | string

/** The keys after `after` and up to `last`; null: without a bound. */
export interface KeyRange {
  readonly after: Key | null
  readonly last: Key | null
}

/** Rows of a table in order, as JSON text: a list of lists of column values. The same rows have the same text. */
export interface Part {
  readonly rows: string
  readonly count: number
}

/** The highest numbers that were given to rows, so that no number is used twice. */
export interface Numbers {
  readonly integrations: number
  readonly notices: number
  readonly access_tokens: number
  readonly events: number
  readonly deliveries: number
}

/**
 * Settings that say how far a move is. `moving_from` is in a target that is not complete yet, `moved_to` in a source that
 * must not be used any more. doorhook starts on neither. They are not copied.
 */
export const marks = { source: "moved_to", target: "moving_from" } as const

/** Name of the setting that holds the number from which a database numbers its rows. */
export const firstIdName = "first_id"

/** Settings that moves read and write. */
export type Mark =
  | (typeof marks)[keyof typeof marks]
  | typeof firstIdName
  | typeof BuildingMoves.movesName
  | typeof AgreedSettings.agreedName

/**
 * Settings that belong to a database and not to what it contains: the marks, and the switches of its server. As a list in
 * SQL.
 */
export const keptSettings = [...Object.values(marks), "switches"].map((name) => `'${name}'`).join(", ")

/** Maximum number of rows and of bytes in a long column that are copied at once. */
const partRows = 5_000
const partBytes = 4_000_000

/** Selects the key at which the next part ends, and null after the last row. `from` has the rows after a key. */
export const partEnd = ({ key, weight }: MovedTable, from: string): string =>
  `SELECT coalesce(max(CASE WHEN bytes <= ${partBytes} THEN k END), min(k)) AS last FROM (
    SELECT k, sum(n) OVER (ORDER BY k) AS bytes FROM (
      SELECT ${key} AS k, ${weight === undefined ? "0" : `octet_length(${weight})`} AS n FROM ${from}
      ORDER BY ${key} LIMIT ${partRows}) AS a) AS b`
