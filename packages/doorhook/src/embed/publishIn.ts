/**
 * Publishing inside the host's own transaction on PostgreSQL, from a client of `pg`.
 */
import { PublishRequest, rootMessage } from "@doorhook/core"
import { currentRole, publishCall, publishRemedyFor } from "@doorhook/sql"
import { Option, Predicate, Result, Schema } from "effect"
import type { PublishInput, PublishResult } from "./createDoorhook.ts"
import { DoorhookError } from "../DoorhookError.ts"
import { badArgument } from "./Arguments.ts"

/** A client of `pg` that has begun a transaction, or what behaves like one. */
export interface TransactionClient {
  /** Runs a statement whose values are written `$1`, `$2`, ... */
  readonly query: (text: string, values: Array<unknown>) => Promise<{ readonly rows: ReadonlyArray<unknown> }>
}

const Published = Schema.Struct({ id: Schema.String, deliveries: Schema.Int })
const decode = Schema.decodeUnknownOption(Schema.Struct({ rows: Schema.Array(Published) }))

/** Can't be made where no transaction has begun: what would be published there could not be taken back by the host. */
const savepoint = "doorhook_publish"

const notBegun =
  "client: no transaction has begun on it, so nothing was published. Take one client of the pool (`await pool.connect()`) and send BEGIN first; without a transaction of your own call doorhook.publish"

/** `no_active_sql_transaction`, by SQLSTATE. */
const outsideTransaction = "25P01"

/** `invalid_parameter_value`: what `doorhook.publish` refuses an event with. */
const refusedEvent = "22023"

/** What the function says of a type or an action, which the database knows and this program does not. */
const undeclared = /^(resource_type|action) (must be .*)$/

/** The database's own error, as hosts retry by it, but for those that doorhook knows more about. */
const refusal = (thrown: unknown, remedy: string | undefined): unknown => {
  const sqlState = Predicate.hasProperty(thrown, "code") ? thrown.code : undefined
  if (sqlState === outsideTransaction) return new DoorhookError("bad_request", notBegun, thrown)
  const [, member, detail] = (sqlState === refusedEvent && undeclared.exec(rootMessage(thrown))) || []
  if (member !== undefined) return new DoorhookError("invalid_publish", `/${member}: ${detail}`, thrown)
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

/** What is refused within costs the host's transaction nothing: it can go on. */
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
      // The connection or the client is broken; the first error says why.
    }
    throw refusal(thrown, remedy)
  }
}

const warned = new Set<string>()

/** A warning of the process: there may be several doorhooks here, or none, whose logger could take it. */
const warnOnce = (oversight: string): void => {
  if (warned.has(oversight)) return
  warned.add(oversight)
  process.emitWarning(`publishIn: ${oversight} This is logged once.`, "DoorhookWarning")
}

/**
 * Publishes an event, or several, in the transaction that the client has begun, on the database that doorhook uses: what
 * commits is delivered, what is rolled back was never there. Rejects with the code `invalid_publish` when an event can't be
 * one, with `bad_request` when the client can't be one or has begun no transaction, with `database_unusable` where doorhook is
 * not there or not for this user, and with the database's own error when that refuses anything else.
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
        "client: its `query` must answer { rows } with an object for each row, as pg does"
      )
  ).rows
  const [first] = published
  return isList || first === undefined ? published : first
}
