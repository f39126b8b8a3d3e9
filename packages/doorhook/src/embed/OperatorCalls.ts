/**
 * Calls of the operator API: in an embedding process by calling the handler, over the network by `fetch`. Shapes and rules
 * are those of the API itself.
 */
import { isRedirect, JsonFlaw } from "@doorhook/core"
import { Option, Result, Schema } from "effect"
import { DoorhookError } from "../DoorhookError.ts"

const ApiErrors = Schema.Struct({
  errors: Schema.Array(
    Schema.Struct({ code: Schema.optionalKey(Schema.String), detail: Schema.optionalKey(Schema.String) })
  )
})

export interface OperatorCalls {
  /** Makes a call that is answered with nothing. Rejects with a `DoorhookError` that says what the API says. */
  readonly done: (method: string, path: string) => Promise<void>
  /** Makes a call and reads its answer. Rejects likewise. */
  readonly read: <A>(schema: Schema.Codec<A, unknown>, method: string, path: string, body?: object) => Promise<A>
}

/** What JSON a response holds; undefined when that is none. */
const bodyOf = (response: Response): Promise<unknown> => response.json().catch(() => undefined)

/** Something answers there that is no doorhook, or one of another version. */
const strangeAnswer = ({ status }: Response): DoorhookError =>
  new DoorhookError("not_doorhook", `What answers there is no doorhook of this version: it answered ${status}.`)

/**
 * Something answers there that sends elsewhere. To follow would leave the key behind, and make a GET of a POST. What is told is
 * where the service may be, without a query, which may hold a secret.
 */
const elsewhere = (place: URL, path: string): DoorhookError => {
  const whole = place.origin + place.pathname + place.search
  const base = whole.endsWith(path) ? whole.slice(0, -path.length) : place.origin
  return new DoorhookError("not_doorhook", `What answers there redirects to ${base}.`)
}

/** A body as JSON; what that can't hold is refused, and not left out. */
const written = (body: object): { readonly body: string } =>
  Result.match(JsonFlaw.toText(body), {
    onSuccess: (text = "") => ({ body: text }),
    onFailure: (flaw) => {
      throw new DoorhookError("bad_request", `what was given ${flaw}`)
    }
  })

/** Calls the operator API through a handler of requests. */
export const makeOperatorCalls = (
  send: (request: Request) => Promise<Response>,
  key: string,
  base = "http://localhost"
): OperatorCalls => {
  const call = async (method: string, path: string, body?: object): Promise<Response> => {
    const response = await send(
      new Request(`${base}${path}`, {
        method,
        redirect: "manual",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : written(body))
      })
    )
    if (response.ok) return response
    const place = isRedirect(response.status)
      ? URL.parse(response.headers.get("location") ?? "", `${base}${path}`)
      : null
    if (place !== null) throw elsewhere(place, path)
    const { errors } = Option.getOrElse(Schema.decodeUnknownOption(ApiErrors)(await bodyOf(response)), () => ({
      errors: []
    }))
    const message = errors.map(({ detail }) => detail).join(" ")
    if (message === "") throw strangeAnswer(response)
    throw new DoorhookError(errors[0]?.code ?? "operator_api", message, undefined, response.status)
  }
  return {
    done: async (method, path) => {
      const response = await call(method, path)
      if (response.status !== 204) throw strangeAnswer(response)
    },
    read: async (schema, method, path, body) => {
      const response = await call(method, path, body)
      const answer = Schema.decodeUnknownOption(schema)(await bodyOf(response))
      if (Option.isNone(answer)) throw strangeAnswer(response)
      return answer.value
    }
  }
}
