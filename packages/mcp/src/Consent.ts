/**
 * Asks the user before a tool does something. A client that has elicitation shows the question itself. Others get it as
 * an error, and repeat the call with `confirm` once the user has agreed.
 */
import { Effect, Option, Schema } from "effect"
import { McpSchema } from "effect/ai"

/** The user's decision, or a request to the client to bring it with the next call. */
export type Consent =
  | {
      readonly _tag: "Agreed"
      /** Whether the call waited for the user. */
      readonly waited: boolean
    }
  | { readonly _tag: "Refused"; readonly code: string; readonly message: string }
  | McpSchema.InputRequired

/** How long a call waits for the user, in milliseconds. */
const patience = 2 * 60_000

const agreed = (waited: boolean): Consent => ({ _tag: "Agreed", waited })
const refused = (code: string, message: string): Consent => ({ _tag: "Refused", code, message })

const declined = refused("declined", "The user did not agree. Nothing was done.")
const unanswered = refused("not_confirmed", "The user did not answer in time. Nothing was done.")

/** Name of the question among the inputs that a client brings. */
const inputName = "confirm"

/** The question as a form without fields: the user can only agree or decline. */
const formOf = (message: string) =>
  ({ mode: "form", message, requestedSchema: { type: "object", properties: {} } }) as const

const decodeForm = Schema.decodeUnknownSync(McpSchema.ElicitRequestFormParams)

/** Whether the client can show a form (an empty `elicitation` means that it can). */
const canAsk = ({ elicitation }: McpSchema.McpRequestContext["Service"]["clientCapabilities"]): boolean =>
  elicitation !== undefined && (elicitation.form !== undefined || Object.keys(elicitation).length === 0)

/** Asks within the call, over the stream of its answer. */
const askNow = (client: McpSchema.McpServerClient["Service"], question: string): Effect.Effect<Consent> =>
  Effect.flatMap(client.getClient, ({ elicit }) => elicit(decodeForm(formOf(question)))).pipe(
    Effect.map(({ action }) => (action === "accept" ? agreed(true) : declined)),
    // A client that fails to ask has no agreement.
    Effect.catch(() => Effect.succeed(declined)),
    Effect.timeoutOption(patience),
    Effect.map(Option.getOrElse(() => unanswered)),
    Effect.scoped
  )

/**
 * Returns the user's decision about a question. `requestState` identifies the call: an answer to another one does not
 * count. `isConfirmed` says whether the client gave consent as an argument, which counts only if the client can't ask.
 */
export const consentTo = Effect.fnUntraced(function* (
  question: string,
  requestState: string,
  isConfirmed: boolean
): Effect.fn.Return<Consent, never, McpSchema.McpRequestContext> {
  const context = yield* McpSchema.McpRequestContext
  if (!canAsk(context.clientCapabilities)) {
    if (isConfirmed) return agreed(false)
    const how = 'Ask the user. If they agree, call the tool again with the same arguments and "confirm": true.'
    return refused("confirmation_required", `${question} ${how}`)
  }
  const client = yield* Effect.serviceOption(McpSchema.McpServerClient)
  if (Option.isSome(client)) return yield* askNow(client.value, question)
  // Without a session, the client repeats the call with the answer.
  const answer = context.inputResponses?.[inputName]
  if (answer === undefined || context.requestState !== requestState) {
    const request = { method: "elicitation/create", params: formOf(question) } as const
    return new McpSchema.InputRequired({ inputRequests: { [inputName]: request }, requestState })
  }
  return answer["action"] === "accept" ? agreed(false) : declined
})
