/**
 * Requests that can't be carried out, and the JSON:API error objects that say why. The API and the operator API answer
 * errors in this one form.
 */
import { Effect, Result, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { RequestId } from "./RequestId.ts"

/** What in the request is wrong: a value in the body, a query parameter, or a header. */
const ErrorSource = Schema.Struct({
  /** JSON Pointer (RFC 6901) to a value that the request has. */
  pointer: Schema.optionalKey(Schema.String),
  parameter: Schema.optionalKey(Schema.String),
  header: Schema.optionalKey(Schema.String)
})

/** One thing that is wrong. */
export const ErrorDetail = Schema.Struct({
  /** A word for programs. */
  code: Schema.String,
  /** The same for each problem of this code. */
  title: Schema.String,
  /** What is wrong here and what is accepted. */
  detail: Schema.String,
  source: Schema.optionalKey(ErrorSource)
})
export type ErrorDetail = typeof ErrorDetail.Type

/** The body of every error answer. */
export const ErrorDocument = Schema.Struct({
  errors: Schema.Array(
    Schema.Struct({
      /** The request id, as in the `x-request-id` header. */
      id: Schema.String,
      /** The HTTP status, as text. */
      status: Schema.String,
      ...ErrorDetail.fields
    })
  )
}).annotate({ identifier: "Errors" })

/** The request was understood to be wrong, or could not be carried out. Nothing was changed. */
export class RequestFailure extends Schema.TaggedError<RequestFailure>()("RequestFailure", {
  status: Schema.Int,
  errors: Schema.NonEmptyArray(ErrorDetail),
  /** Headers that the status calls for, like `allow`. */
  headers: Schema.Record(Schema.String, Schema.String)
}) {
  override get message(): string {
    return this.errors.map(({ detail }) => detail).join(" ")
  }

  /** The same failure with further headers. */
  with(headers: Readonly<Record<string, string>>): RequestFailure {
    const { errors, status } = this
    return new RequestFailure({ status, errors, headers: { ...headers, ...this.headers } })
  }
}

/** A failure with one reason. */
export const failure = (
  status: number,
  detail: ErrorDetail,
  headers: Readonly<Record<string, string>> = {}
): RequestFailure => new RequestFailure({ status, errors: [detail], headers })

/** What is wrong with a query parameter. */
export const parameterProblem = (parameter: string, detail: string): ErrorDetail => ({
  code: "invalid_parameter",
  title: "Invalid query parameter",
  detail,
  source: { parameter }
})

/** A failure because of one query parameter. */
export const parameterFailure = (parameter: string, detail: string): RequestFailure =>
  failure(400, parameterProblem(parameter, detail))

/** Reads two things of a request, and tells what is wrong with both of them at once. */
export const both = Effect.fnUntraced(function* <A, B, R>(
  one: Effect.Effect<A, RequestFailure, R>,
  other: Effect.Effect<B, RequestFailure, R>
) {
  const [first, second] = [yield* Effect.result(one), yield* Effect.result(other)]
  if (Result.isFailure(first) && Result.isFailure(second)) {
    const { errors, headers, status } = first.failure
    const all = [...errors, ...second.failure.errors] as const
    return yield* new RequestFailure({ status, errors: all, headers })
  }
  return [yield* Effect.fromResult(first), yield* Effect.fromResult(second)] as const
})

/** The body that tells a failure, with the id of the request. */
export const failureBody = (id: string, { errors, status }: RequestFailure): string => {
  const document: typeof ErrorDocument.Type = {
    errors: errors.map((error) => ({ id, status: String(status), ...error }))
  }
  return JSON.stringify(document)
}

/** The answer that a failure is told with. */
export const failureResponse = (mediaType: string) =>
  Effect.fnUntraced(function* (failure: RequestFailure) {
    const { headers, status } = failure
    return HttpServerResponse.text(failureBody(yield* RequestId, failure), { status, headers, contentType: mediaType })
  })
