/**
 * Publishing inside the host's own transaction on PostgreSQL, from a client of `pg`.
 */
import { PublishRequest, rootMessage } from "@doorhook/core"
import { publishCall, publishRemedyFor } from "@doorhook/sql"
import { Option, Predicate, Result, Schema } from "effect"
import type { PublishInput, PublishResult } from "./createDoorhook.ts"
import { DoorhookError } from "../DoorhookError.ts"
import { badArgument } from "./Arguments.ts"

/** A client of `pg` in a transaction, or a compatible object. */
export interface TransactionClient {
  /** Runs a statement whose values are written `$1`, `$2`, ... */
  readonly query: (text: string, values: Array<unknown>) => Promise<{ readonly rows: ReadonlyArray<unknown> }>
}

const Published = Schema.Struct({ id: Schema.String, deliveries: Schema.Int })
const decode = Schema.decodeUnknownOption(Schema.Struct({ rows: Schema.Array(Published) }))

/**
 * The savepoint around a publication. Setting it fails outside a transaction, where the host could not roll the publication
 * back.
 */
const savepoint = "doorhook_publish"

const notBegun =
  "client: no transaction has begun on it, so nothing was published. Take one client of the pool (`await pool.connect()`) and send BEGIN first; without a transaction of your own call doorhook.publish"

/** `no_active_sql_transaction`, by SQLSTATE. */
const outsideTransaction = "25P01"

/** `invalid_parameter_value`: the SQLSTATE when `doorhook.publish` refuses an event. */
const refusedEvent = "22023"

/** The function's message for a resource type or action that the database does not have. */
const undeclared = /^(resource_type|action) (must be .*)$/

/** The database's own error, as hosts retry by it, but for those that doorhook knows more about. */
const refusal = (thrown: unknown): unknown => {
  const sqlState = Predicate.hasProperty(thrown, "code") ? thrown.code : undefined
  if (sqlState === outsideTransaction) return new DoorhookError("bad_request", notBegun, thrown)
  const [, member, detail] = (sqlState === refusedEvent && undeclared.exec(rootMessage(thrown))) || []
  if (member !== undefined) return new DoorhookError("invalid_publish", `/${member}: ${detail}`, thrown)
  const remedy = publishRemedyFor(thrown)
  return remedy === undefined ? thrown : new DoorhookError("database_unusable", remedy, thrown)
}

/** What is refused within costs the host's transaction nothing: it can go on. */
const withinSavepoint = async <A>(client: TransactionClient, work: () => Promise<A>): Promise<A> => {
  try {
    await client.query(`SAVEPOINT ${savepoint}`, [])
  } catch (thrown) {
    throw refusal(thrown)
  }
  const release = `RELEASE SAVEPOINT ${savepoint}`
  try {
    const done = await work()
    await client.query(release, [])
    return done
  } catch (thrown) {
    try {
      await client.query(`ROLLBACK TO SAVEPOINT ${savepoint}`, [])
      await client.query(release, [])
    } catch {
      // The connection is gone, and what came first says why.
    }
    throw refusal(thrown)
  }
}

/**
 * Publishes one or several events within the client's transaction, on the database that doorhook uses. Deliveries start
 * after the commit, and a rollback leaves nothing. Rejects with `invalid_publish` for an invalid event, with `bad_request`
 * when the client is unusable or in no transaction, with `database_unusable` when doorhook is not installed or not
 * accessible to this user, and otherwise with the database's own error.
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
    throw badArgument("client", "a client of pg that has begun a transaction", client)
  }
  const { events, isList } = Result.getOrThrowWith(
    PublishRequest.uncheckedReader.fromValue(input),
    ({ message }) => new DoorhookError("invalid_publish", message)
  )
  const { text, values } = publishCall(events)
  const answer = await withinSavepoint(client, () => client.query(text, values))
  const published = Option.getOrThrowWith(
    decode(answer),
    () =>
      new DoorhookError(
        "bad_request",
        "client: its `query` must answer { rows } with an object for each row, as pg does"
      )
  ).rows
  const [first] = published
  return isList || first === undefined ? published : first
}
