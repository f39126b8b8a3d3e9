/**
 * Calls of the operator API: within an embedding process by calling its operations, over the network by `fetch`. Both give the
 * same answers and reject with the same errors.
 */
import { isRedirect, JsonEncoding } from "@doorhook/core"
import type { Operation, OperatorApi, RequestFailure } from "@doorhook/server"
import { Effect, Option, Result, Schema } from "effect"
import { DoorhookError } from "../DoorhookError.ts"

/** What an operation is called with. */
interface OperatorCallOptions {
  /** The `:id` in its path. */
  readonly id?: string
  /** Its query, without the question mark. */
  readonly query?: string
  readonly body?: object
}

/** Calls an operation. Rejects with a `DoorhookError` that says what the API says. */
export type OperatorCalls = <Answer>(operation: Operation<Answer>, options?: OperatorCallOptions) => Promise<Answer>

/** A body as JSON; what JSON can't hold is refused. */
const jsonOf = (body: object): string =>
  Result.match(JsonEncoding.encode(body), {
    onSuccess: (text = "") => text,
    onFailure: (flaw) => {
      throw new DoorhookError("bad_request", `what was given ${flaw}`)
    }
  })

const refused = ({ errors: [first], message, status }: RequestFailure): DoorhookError =>
  new DoorhookError(first.code, message, undefined, status)

/** Calls operations of this process. `run` runs them in its runtime. */
export const makeInProcessCalls =
  ({ call }: OperatorApi["Service"], run: <A>(effect: Effect.Effect<A>) => Promise<A>): OperatorCalls =>
  async (operation, { body, id, query } = {}) => {
    const given = {
      ...(id !== undefined && { params: { id } }),
      ...(query !== undefined && { query }),
      ...(body !== undefined && { body: jsonOf(body) })
    }
    const result = await run(Effect.result(call(operation, given)))
    if (Result.isFailure(result)) throw refused(result.failure)
    return result.success
  }

const ApiErrors = Schema.Struct({
  errors: Schema.Array(
    Schema.Struct({ code: Schema.optionalKey(Schema.String), detail: Schema.optionalKey(Schema.String) })
  )
})

/** The JSON in a response; undefined when there is none. */
const bodyOf = (response: Response): Promise<unknown> => response.json().catch(() => undefined)

/** The answer of something that is no doorhook, or one of another version. */
const strangeAnswer = ({ status }: Response): DoorhookError =>
  new DoorhookError("not_doorhook", `What answers there is no doorhook of this version: it answered ${status}.`)

/**
 * A redirect is not followed: that would leave the key behind, and make a GET of a POST. The message says where the service may be,
 * without a query, which may hold a secret.
 */
const elsewhere = (place: URL, path: string): DoorhookError => {
  const whole = place.origin + place.pathname + place.search
  const base = whole.endsWith(path) ? whole.slice(0, -path.length) : place.origin
  return new DoorhookError("not_doorhook", `What answers there redirects to ${base}.`)
}

/** Why an answer of the API is not the one that was asked for. */
const failureOf = async (response: Response, base: string, path: string): Promise<DoorhookError> => {
  const place = isRedirect(response.status) ? URL.parse(response.headers.get("location") ?? "", `${base}${path}`) : null
  if (place !== null) return elsewhere(place, path)
  const { errors } = Option.getOrElse(Schema.decodeUnknownOption(ApiErrors)(await bodyOf(response)), () => ({
    errors: []
  }))
  const message = errors.map(({ detail }) => detail).join(" ")
  if (message === "") return strangeAnswer(response)
  return new DoorhookError(errors[0]?.code ?? "operator_api", message, undefined, response.status)
}

/** Calls the operations of the service at `base` with its operator key. */
export const makeHttpCalls =
  (base: string, key: string): OperatorCalls =>
  async ({ answer, method, path: template, status }, { body, id = "", query = "" } = {}) => {
    const path = template.replace(":id", () => encodeURIComponent(id)) + (query === "" ? "" : `?${query}`)
    const response = await fetch(`${base}${path}`, {
      method,
      redirect: "manual",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { body: jsonOf(body) })
    })
    if (!response.ok) throw await failureOf(response, base, path)
    if ((response.status === 204) !== (status === 204)) throw strangeAnswer(response)
    const document = Schema.decodeUnknownOption(answer)(status === 204 ? null : await bodyOf(response))
    if (Option.isNone(document)) throw strangeAnswer(response)
    return document.value
  }
