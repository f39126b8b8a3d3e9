/**
 * Operations of the operator API as data. Routes, calls within the process and the client over HTTP are made from them.
 */
import { Effect } from "effect"
import type { Schema } from "effect"
import { parseJson } from "../http/Documents.ts"
import type { BodyError, KnownError, RequestFailure } from "../http/Failures.ts"
import type { QueryParameters } from "../http/Query.ts"
import { parseQuery } from "../http/Query.ts"
import type { Method, Params } from "../http/Route.ts"

export interface Operation<Answer = unknown, Name extends string = string> {
  /** Like `deliveries.list`. */
  readonly name: string
  readonly method: Method
  /** Like `/operator/deliveries/:id`. */
  readonly path: `/operator/${string}`
  /** Accepted query parameters. */
  readonly query: ReadonlyArray<Name>
  /** The largest body, in bytes; 0 where none is read. */
  readonly bodyLimit: number
  /** The status of success. */
  readonly status: 200 | 201 | 202 | 204
  /** The answer's document; null with 204. */
  readonly answer: Schema.Codec<Answer, unknown>
}

/** Defines an operation: without query parameters, body and status 200 unless they are given. */
export const operation = <Answer, const Name extends string = never>(
  given: Pick<Operation<Answer, Name>, "name" | "method" | "path" | "answer"> & Partial<Operation<Answer, Name>>
): Operation<Answer, Name> => ({ query: [], bodyLimit: 0, status: 200, ...given })

/** A call of an operation, as it arrived. */
export interface OperatorRequest {
  /** The open parts of the path, decoded. */
  readonly params: Params
  /** The query as text, without the question mark. */
  readonly query: string
  /** Reads the body. Handlers look at the path first. */
  readonly text: Effect.Effect<string, BodyError>
  /** A header by its name in lower case. */
  readonly header: (name: string) => string | undefined
}

/** The same with its query read. */
interface OperatorInput<Name extends string> extends Omit<OperatorRequest, "query"> {
  readonly query: QueryParameters<Name>
}

/** What carries out an operation. */
export interface OperatorHandler {
  readonly operation: Operation
  /** Answers with the operation's document. */
  readonly run: (request: OperatorRequest) => Effect.Effect<unknown, KnownError>
}

export const handler = <Answer, Name extends string>(
  given: Operation<Answer, Name>,
  run: (input: OperatorInput<Name>) => Effect.Effect<Answer, KnownError>
): OperatorHandler => ({
  operation: given,
  run: (request) => Effect.flatMap(parseQuery(request.query, given.query), (query) => run({ ...request, query }))
})

/** The value of a JSON body. */
export const readBody = ({ text }: Pick<OperatorRequest, "text">): Effect.Effect<unknown, BodyError | RequestFailure> =>
  Effect.flatMap(text, parseJson)

/** The same of a body that may be left out, which is then an empty object. */
export const readOptionalBody = ({
  text
}: Pick<OperatorRequest, "text">): Effect.Effect<unknown, BodyError | RequestFailure> =>
  Effect.flatMap(text, (body) => (body === "" ? Effect.succeed({}) : parseJson(body)))
