/**
 * Reads for HTTP requests over PostgreSQL. Requests that arrive together need rows of the same tables, so one statement
 * reads them all. The round trip and its overhead cost several times as much as a row.
 */
import type { Fiber } from "effect"
import { Effect, Exit, Layer, Predicate, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { Key } from "../ReadConnection.ts"
import { ReadConnection } from "../ReadConnection.ts"
import { int8s, texts } from "./PostgresDialect.ts"

type Row = Readonly<Record<string, unknown>>

/** A caller that waits for a row, whose columns it knows, as with `SqlClient.unsafe`. */
interface Caller {
  resume(found: Effect.Effect<object | undefined, SqlError.SqlError>): void
}

const listOf = (values: Iterable<Key["value"]>) => {
  const all = [...values]
  return all.every(Predicate.isNumber) ? int8s(all) : texts(all.map(String))
}

class SharedReads {
  readonly #sql: SqlClient.SqlClient
  readonly #fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  /** The callers that wait for a row, by statement and column value. */
  #waiting = new Map<string, { readonly column: string; readonly callers: Map<Key["value"], Array<Caller>> }>()

  constructor(sql: SqlClient.SqlClient, fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>) {
    this.#sql = sql
    this.#fork = fork
  }

  /** Reads a row together with the others that are asked for in this turn of the event loop; alone if it is traced. */
  row<A extends object>(statement: string, key: Key): Effect.Effect<A | undefined, SqlError.SqlError> {
    return Effect.withFiber((fiber) =>
      fiber.getRef(Tracer.Tracer) === Tracer.nativeTracer
        ? Effect.callback<A | undefined, SqlError.SqlError>((resume) => this.#add(statement, key, { resume }))
        : Effect.map(this.#sql.unsafe<A>(statement, [listOf([key.value])]), ([row]) => row)
    )
  }

  #add(statement: string, { column, value }: Key, caller: Caller): void {
    if (this.#waiting.size === 0) setImmediate(() => this.#flush())
    const waiting = this.#waiting.get(statement) ?? { column, callers: new Map<Key["value"], Array<Caller>>() }
    this.#waiting.set(statement, waiting)
    waiting.callers.set(value, [...(waiting.callers.get(value) ?? []), caller])
  }

  #flush(): void {
    const all = this.#waiting
    this.#waiting = new Map()
    for (const [statement, { callers, column }] of all) {
      const read = this.#sql.unsafe<Row>(statement, [listOf(callers.keys())])
      this.#fork(read).addObserver((exit) => {
        const rows = Exit.isSuccess(exit) ? new Map(exit.value.map((row) => [row[column], row])) : null
        for (const [value, waiting] of callers) {
          for (const { resume } of waiting) resume(Exit.map(exit, () => rows?.get(value)))
        }
      })
    }
  }
}

export const layer: Layer.Layer<ReadConnection, never, SqlClient.SqlClient> = Layer.effect(
  ReadConnection,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const shared = new SharedReads(sql, Effect.runForkWith(yield* Effect.context<never>()))
    return ReadConnection.of({
      rows: (statement, params) => sql.unsafe(statement, params),
      row: (statement, key) => shared.row(statement, key)
    })
  })
)
