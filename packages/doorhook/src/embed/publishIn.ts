/**
 * Publishes in the host's own PostgreSQL transaction, through a `pg` client.
 */
import { PublishRequest, rootMessage } from "@doorhook/core"
import { currentRole, notServed, publishCall, publishRemedyFor } from "@doorhook/sql"
import { Cause, Option, Predicate, Result, Schema } from "effect"
import type { PublishInput, PublishResult } from "./createDoorhook.ts"
import { DoorhookError, fromCause } from "../DoorhookError.ts"
import { badArgument } from "./Arguments.ts"

/** A `pg` client in a transaction, or a compatible object. */
export interface TransactionClient {
  /** Runs a statement with the placeholders `$1`, `$2`, ... */
  readonly query: (text: string, values: Array<unknown>) => Promise<{ readonly rows: ReadonlyArray<unknown> }>
}

const Published = Schema.Struct({ id: Schema.String, deliveries: Schema.Int })
const decode = Schema.decodeUnknownOption(Schema.Struct({ rows: Schema.Array(Published) }))

/**
 * Name of the savepoint around a publication. SAVEPOINT fails outside a transaction, where a publication could not be
 * rolled back.
 */
const savepoint = "doorhook_publish"

const notBegun =
  "client: not in a transaction, so nothing was published. Take one client from the pool (`await pool.connect()`) and send BEGIN first; without your own transaction, call doorhook.publish"

/** SQLSTATE of `no_active_sql_transaction`. */
const outsideTransaction = "25P01"

/** SQLSTATE of `invalid_parameter_value`, with which the SQL function `doorhook.publish` refuses an event. */
const refusedEvent = "22023"

/** Matches the SQL function's message for a resource type or action that the database does not have. */
const undeclared = /^(resource_type|action) (must be .*)$/

/**
 * Converts errors that doorhook can explain. Other errors are not changed, because hosts use them to decide whether to
 * retry.
 */
const refusal = (thrown: unknown, remedy: string | undefined): unknown => {
  const sqlState = Predicate.hasProperty(thrown, "code") ? thrown.code : undefined
  if (sqlState === outsideTransaction) return new DoorhookError("bad_request", notBegun, thrown)
  const [, member, detail] = (sqlState === refusedEvent && undeclared.exec(rootMessage(thrown))) || []
  if (member !== undefined) return new DoorhookError("invalid_publish", `/${member}: ${detail}`, thrown)
  const elsewhere = notServed(thrown)
  if (elsewhere !== undefined) return fromCause(Cause.fail(elsewhere))
  return remedy === undefined ? thrown : new DoorhookError("database_unusable", remedy, thrown)
}

const decodeRole = Schema.decodeUnknownSync(
  Schema.Struct({ rows: Schema.NonEmptyArray(Schema.Struct({ role: Schema.String })) })
)

const remedyFor = async (client: TransactionClient, thrown: unknown): Promise<string | undefined> => {
  const remedy = publishRemedyFor(thrown)
  if (remedy === undefined) return undefined
  const { rows } = decodeRole(await client.query(currentRole, []))
  return remedy(rows[0].role)
}

/** Runs `work` in a savepoint, so that the host's transaction can continue if it fails. */
const withinSavepoint = async <A>(client: TransactionClient, work: () => Promise<A>): Promise<A> => {
  try {
    await client.query(`SAVEPOINT ${savepoint}`, [])
  } catch (thrown) {
    throw refusal(thrown, undefined)
  }
  const release = `RELEASE SAVEPOINT ${savepoint}`
  try {
    const done = await work()
    await client.query(release, [])
    return done
  } catch (thrown) {
    let remedy: string | undefined
    try {
      await client.query(`ROLLBACK TO SAVEPOINT ${savepoint}`, [])
      await client.query(release, [])
      remedy = await remedyFor(client, thrown)
    } catch {
      // The rollback also failed, because the connection or the client is broken. `thrown` says why.
    }
    throw refusal(thrown, remedy)
  }
}

const warned = new Set<string>()

/** Emits a process warning instead of a log line, because `publishIn` gets no doorhook and therefore no logger. */
const warnOnce = (oversight: string): void => {
  if (warned.has(oversight)) return
  warned.add(oversight)
  process.emitWarning(`publishIn: ${oversight} This is logged once.`, "DoorhookWarning")
}

/**
 * Publishes one or several events in the client's transaction, on the database that doorhook uses. Deliveries start
 * after the commit; a rollback discards them. Rejects with `invalid_publish` for an invalid event, and with
 * `bad_request` if the client is unusable or not in a transaction. Rejects with `being_moved` or `misdirected` if another
 * database is to serve a building, or serves it. Rejects with `database_unusable` if doorhook is not
 * installed in the database, or if this user can't access it. All other errors are the database's own.
 */
export function publishIn(
  client: TransactionClient,
  events: ReadonlyArray<PublishInput>
): Promise<ReadonlyArray<PublishResult>>
export function publishIn(client: TransactionClient, event: PublishInput): Promise<PublishResult>
export async function publishIn(
  client: TransactionClient,
  input: PublishInput | ReadonlyArray<PublishInput>
): Promise<PublishResult | ReadonlyArray<PublishResult>> {
  if (!Predicate.hasProperty(client, "query") || !Predicate.isFunction(client.query)) {
    throw badArgument("client", "a pg client in a transaction", client)
  }
  const { events, isList, oversights } = Result.getOrThrowWith(
    PublishRequest.uncheckedReader.fromValue(input),
    ({ message }) => new DoorhookError("invalid_publish", message)
  )
  for (const oversight of oversights) warnOnce(oversight)
  const { text, values } = publishCall(events)
  const answer = await withinSavepoint(client, () => client.query(text, values))
  const published = Option.getOrThrowWith(
    decode(answer),
    () =>
      new DoorhookError(
        "bad_request",
        "client: its `query` must return { rows } with an object for each row, as pg does"
      )
  ).rows
  const [first] = published
  return isList || first === undefined ? published : first
}
