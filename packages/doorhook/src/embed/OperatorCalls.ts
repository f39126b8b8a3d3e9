/**
 * Calls of the operator API: in an embedding process by calling the handler, over the network by `fetch`. Shapes and rules
 * are those of the API itself.
 */
import { Option, Schema } from "effect"
import { DoorhookError } from "../DoorhookError.ts"

const ApiErrors = Schema.Struct({
  errors: Schema.Array(
    Schema.Struct({ code: Schema.optionalKey(Schema.String), detail: Schema.optionalKey(Schema.String) })
  )
})

export interface OperatorCalls {
  /** Makes a call. Rejects with a `DoorhookError` that says what the API says. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<Response>
  /** Makes a call and reads its answer. */
  readonly read: <A>(schema: Schema.Codec<A, unknown>, method: string, path: string, body?: unknown) => Promise<A>
}

/** Options as a query, with its question mark; what is undefined is left out. */
export const queryOf = (options: object): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(options)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? "" : `?${query.toString()}`
}

/** What JSON a response holds; undefined when that is none. */
const bodyOf = (response: Response): Promise<unknown> => response.json().catch(() => undefined)

/** Something answers there that is no doorhook, or one of another version. */
const strangeAnswer = ({ status }: Response): DoorhookError =>
  new DoorhookError("not_doorhook", `What answers there is no doorhook of this version: it answered ${status}.`, status)

/** Calls the operator API through a handler of requests. */
export const makeOperatorCalls = (
  send: (request: Request) => Promise<Response>,
  key: string,
  base = "http://localhost"
): OperatorCalls => {
  const call: OperatorCalls["call"] = async (method, path, body) => {
    const response = await send(
      new Request(`${base}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
    )
    if (response.ok) return response
    const { errors } = Option.getOrElse(Schema.decodeUnknownOption(ApiErrors)(await bodyOf(response)), () => ({
      errors: []
    }))
    const message = errors.map(({ detail }) => detail).join(" ")
    if (message === "") throw strangeAnswer(response)
    throw new DoorhookError(errors[0]?.code ?? "operator_api", message, response.status)
  }
  return {
    call,
    read: async (schema, method, path, body) => {
      const response = await call(method, path, body)
      const answer = Schema.decodeUnknownOption(schema)(await bodyOf(response))
      if (Option.isNone(answer)) throw strangeAnswer(response)
      return answer.value
    }
  }
}
