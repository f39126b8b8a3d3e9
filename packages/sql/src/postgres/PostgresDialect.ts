/**
 * The PostgreSQL dialect. Reads `bigint` as JavaScript numbers, and passes lists as typed arrays.
 */
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Result } from "effect"
import type { Dialect, Parameter } from "../Dialect.ts"

const high = 0x1_0000_0000

const toBytes = (value: number | bigint): Uint8Array => {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}

/** `bigint` as a number. Valid values are below 2^53; the schemas of rows reject larger ones. */
const int8: PgTypes.Codec<number | bigint> = {
  encode: (value) => Result.succeed(toBytes(value)),
  decode: (bytes) => Result.succeed(Number(Buffer.from(bytes).readBigInt64BE())),
  write: (sink, value) => {
    const number = Number(value)
    const upper = Math.floor(number / high)
    sink.int32(upper)
    sink.int32((number - upper * high) | 0)
    return Result.void
  },
  read: (bytes, offset) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset + offset, 8)
    return Result.succeed(view.getInt32(0) * high + view.getUint32(4))
  }
}

/** Type codecs of doorhook's own connections. */
export const types: PgTypes.Registry = PgTypes.makeRegistry()
types.register(PgTypes.OID.int8, int8)

const arrayOf =
  (oid: number) =>
  (values: Iterable<number | string | null>): Parameter =>
    Result.getOrThrow(PgTypes.array([...values], oid, types))

/** A `bigint[]`, nulls allowed. */
export const int8s: (values: Iterable<number | null>) => Parameter = arrayOf(PgTypes.OID.int8)

/** A `text[]`, nulls allowed. */
export const texts: (values: Iterable<string | null>) => Parameter = arrayOf(PgTypes.OID.text)

const numbered = (statement: string): string => {
  let count = 0
  return statement.replaceAll("?", () => `$${++count}`)
}

export const postgres: Dialect = {
  text: numbered,
  isOneOfIds: (column) => `${column} = ANY(?)`,
  ids: int8s,
  isOneOfTexts: (column) => `${column} = ANY(?)`,
  texts,
  // A list, because one statement looks up what several requests need (`SharedReads`).
  isKey: (column) => `${column} = ANY(?)`,
  lockFree: "FOR UPDATE SKIP LOCKED",
  // The array is evaluated before the search for rows. With a plain subquery, PostgreSQL might scan the whole table.
  isOneOfKept: (column, query) => `${column} = ANY(ARRAY(${query} ORDER BY ${column} FOR NO KEY UPDATE))`,
  numbersIn: (column) =>
    `LATERAL (SELECT t.value::bigint AS value FROM json_array_elements_text(${column}::json) AS t (value))`,
  tellChange: `, wake(id::text)`
}
