/**
 * Calls the operator API: directly in an embedding process, and with `fetch` in other processes. Both kinds of calls
 * return the same answers and reject with the same errors.
 */
import { isRedirect, JsonEncoding } from "@doorhook/core"
import type { Operation, OperatorApi, RequestFailure } from "@doorhook/server"
import { Effect, Option, Result, Schema } from "effect"
import { DoorhookError } from "../DoorhookError.ts"

/** Arguments of an operation. */
interface OperatorCallOptions {
  /** The value of `:id` in the operation's path. */
  readonly id?: string
  /** The query string, without the question mark. */
  readonly query?: string
  readonly body?: object
}

/** Calls an operation. Rejects with a `DoorhookError` that has the API's code and message. */
export type OperatorCalls = <Answer>(operation: Operation<Answer>, options?: OperatorCallOptions) => Promise<Answer>

/** Returns a body as JSON. Throws for values that JSON can't represent. */
const jsonOf = (body: object): string =>
  Result.match(JsonEncoding.encode(body), {
    onSuccess: (text = "") => text,
    onFailure: (flaw) => {
      throw new DoorhookError("bad_request", `the given value ${flaw}`)
    }
  })

const refused = ({ errors: [first], message, status }: RequestFailure): DoorhookError =>
  new DoorhookError(first.code, message, undefined, status)

/** Calls the operations in this process. `run` runs their effects. */
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

/** Returns the JSON body of a response; undefined if it has none. */
const bodyOf = (response: Response): Promise<unknown> => response.json().catch(() => undefined)

/** Returns the error for a response that is not from a doorhook of this version. */
const notDoorhookError = ({ status }: Response): DoorhookError =>
  new DoorhookError("not_doorhook", `The server there is not a doorhook of this version: it answered ${status}.`)

/**
 * Returns the error for a redirect. Redirects are not followed, because `fetch` would drop the key and turn a POST into
 * a GET. The message names the base URL of the target without the query, which might contain a secret.
 */
const redirectError = (place: URL, path: string): DoorhookError => {
  const whole = place.origin + place.pathname + place.search
  const base = whole.endsWith(path) ? whole.slice(0, -path.length) : place.origin
  return new DoorhookError("not_doorhook", `The server there redirects to ${base}.`)
}

/** Returns the error for a response that is not successful. */
const failureOf = async (response: Response, base: string, path: string): Promise<DoorhookError> => {
  const place = isRedirect(response.status) ? URL.parse(response.headers.get("location") ?? "", `${base}${path}`) : null
  if (place !== null) return redirectError(place, path)
  const { errors } = Option.getOrElse(Schema.decodeUnknownOption(ApiErrors)(await bodyOf(response)), () => ({
    errors: []
  }))
  const message = errors.map(({ detail }) => detail).join(" ")
  if (message === "") return notDoorhookError(response)
  return new DoorhookError(errors[0]?.code ?? "operator_api", message, undefined, response.status)
}

/** Calls the operations of the service at `base`, with the service's operator key. */
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
    if ((response.status === 204) !== (status === 204)) throw notDoorhookError(response)
    const document = Schema.decodeUnknownOption(answer)(status === 204 ? null : await bodyOf(response))
    if (Option.isNone(document)) throw notDoorhookError(response)
    return document.value
  }
