/**
 * Definitions of the operator API's operations. HTTP routes, calls within the process and the HTTP client are derived
 * from them.
 */
import { Effect } from "effect"
import type { Schema } from "effect"
import { parseJson } from "../http/Documents.ts"
import type { BodyError, KnownError, RequestFailure } from "../http/Failures.ts"
import type { QueryParameters } from "../http/Query.ts"
import { parseQuery } from "../http/Query.ts"
import type { Method, Params } from "../http/Route.ts"

export interface Operation<Answer = unknown, Name extends string = string> {
  /** The operation's name, like `deliveries.list`. */
  readonly name: string
  readonly method: Method
  /** The path, like `/operator/deliveries/:id`. */
  readonly path: `/operator/${string}`
  /** Accepted query parameters. */
  readonly query: ReadonlyArray<Name>
  /** Largest body, in bytes; 0 if none is read. */
  readonly bodyLimit: number
  /** The HTTP status of a successful call. */
  readonly status: 200 | 201 | 202 | 204
  /** Schema of the answer's document; `Schema.Null` for 204. */
  readonly answer: Schema.Codec<Answer, unknown>
}

/** Defines an operation. By default, an operation has no query parameters, no body, and the status 200. */
export const operation = <Answer, const Name extends string = never>(
  name: string,
  method: Method,
  path: `/operator/${string}`,
  answer: Schema.Codec<Answer, unknown>,
  options: Partial<Pick<Operation<Answer, Name>, "query" | "bodyLimit" | "status">> = {}
): Operation<Answer, Name> => ({ name, method, path, answer, query: [], bodyLimit: 0, status: 200, ...options })

/** A call of an operation. */
export interface OperatorRequest {
  /** Decoded path parameters. */
  readonly params: Params
  /** The query as text, without the question mark. */
  readonly query: string
  /** Reads the body. Handlers should check the path before they run this. */
  readonly text: Effect.Effect<string, BodyError>
  /** Returns a header by its lower-case name. */
  readonly header: (name: string) => string | undefined
}

/** An operator request with its parsed query. */
interface OperatorInput<Name extends string> extends Omit<OperatorRequest, "query"> {
  readonly query: QueryParameters<Name>
}

/** An operation with its implementation. */
export interface OperatorHandler {
  readonly operation: Operation
  /** Returns the operation's document. */
  readonly run: (request: OperatorRequest) => Effect.Effect<unknown, KnownError>
}

export const handler = <Answer, Name extends string>(
  given: Operation<Answer, Name>,
  run: (input: OperatorInput<Name>) => Effect.Effect<Answer, KnownError>
): OperatorHandler => ({
  operation: given,
  run: (request) => Effect.flatMap(parseQuery(request.query, given.query), (query) => run({ ...request, query }))
})

/** Parses a JSON body. */
export const readBody = ({ text }: Pick<OperatorRequest, "text">): Effect.Effect<unknown, BodyError | RequestFailure> =>
  Effect.flatMap(text, parseJson)

/** Parses an optional JSON body. An empty body is read as an empty object. */
export const readOptionalBody = ({
  text
}: Pick<OperatorRequest, "text">): Effect.Effect<unknown, BodyError | RequestFailure> =>
  Effect.flatMap(text, (body) => (body === "" ? Effect.succeed({}) : parseJson(body)))
