/**
 * Tools as this package defines them, and how they answer: a failure is a result that says what to do, so that the
 * assistant can correct itself.
 */
import { InvalidInput, publicScope, schemaProblems } from "@doorhook/core"
import type { Crypto, JsonText, Principal } from "@doorhook/core"
import { failure, logRefusal, outcomeOf } from "@doorhook/server"
import type { KnownError, RequestFailure } from "@doorhook/server"
import { Cause, Context, Effect, Result, Schema } from "effect"
import { McpSchema } from "effect/ai"
import type { McpServer } from "effect/ai"
import { consentTo } from "./Consent.ts"

/** What a tool returns: an object, or the exact text of one. */
export type ToolAnswer = object | JsonText.JsonText

/** A call whose arguments are valid. */
interface PreparedCall {
  /** What will happen, as a question for the user; null if the tool needs no consent. */
  readonly question: Effect.Effect<string, KnownError> | null
  readonly run: Effect.Effect<ToolAnswer, KnownError>
}

export interface Tool {
  /** The name that people see. */
  readonly title: string
  readonly description: string
  /** The arguments, as JSON Schema. */
  readonly input: Readonly<Record<string, unknown>>
  /** The scope that a token needs to call the tool. */
  readonly scope: string
  /** Whether the tool changes nothing. */
  readonly readOnly: boolean
  /** Whether the user is asked before each call. */
  readonly asks: boolean
  readonly prepare: (given: unknown, caller: Principal) => Result.Result<PreparedCall, InvalidInput>
}

/** Makes the failure of a call, with a code for programs and a sentence that says what to do. */
export const refused = (code: string, detail: string): RequestFailure =>
  failure(422, { code, title: "Refused", detail })

/** The title of problems with arguments. */
export const invalidArguments = "Invalid arguments"

/** Makes a tool of doorhook's own, whose arguments have a schema. One without a question changes nothing. */
export const makeTool = <S extends Schema.Top & { readonly DecodingServices: never }>({
  input,
  question,
  run,
  ...described
}: Pick<Tool, "title" | "description"> & {
  readonly input: S
  readonly question?: (input: S["Type"], caller: Principal) => Effect.Effect<string, KnownError>
  readonly run: (input: S["Type"], caller: Principal) => Effect.Effect<ToolAnswer, KnownError>
}): Tool => {
  const decode = Schema.decodeUnknownResult(input, { errors: "all", onExcessProperty: "error" })
  return {
    ...described,
    asks: question !== undefined,
    readOnly: question === undefined,
    scope: publicScope,
    input: Schema.toJsonSchemaDocument(input, { onExcessProperty: "error" }).schema,
    prepare: (given, caller) =>
      Result.mapBoth(decode(given), {
        onFailure: (error) => new InvalidInput({ title: invalidArguments, problems: schemaProblems(error) }),
        onSuccess: (read) => ({
          question: question === undefined ? null : question(read, caller),
          run: Effect.suspend(() => run(read, caller))
        })
      })
  }
}

/** The request that a tool works for. */
export interface CurrentCall {
  readonly caller: Principal
  /** Identifies the caller again; null if the token is no longer valid. */
  readonly again: Effect.Effect<Principal | null, KnownError>
  /** The id of the request, for the log. */
  readonly id: string
}

/** The current request; null outside requests. */
export const CurrentCall = Context.Reference<CurrentCall | null>("@doorhook/mcp/CurrentCall", {
  defaultValue: () => null
})

/** Whether a caller may call a tool. */
export const mayCall = ({ scope }: Pick<Tool, "scope">, caller: Principal): boolean => caller.scopes.includes(scope)

const failed = (code: string, message: string): McpSchema.CallToolResult =>
  new McpSchema.CallToolResult({
    isError: true,
    content: [{ type: "text", text: message }],
    structuredContent: { error: { code, message } }
  })

export const textOf = (answer: ToolAnswer): string => (typeof answer === "string" ? answer : JSON.stringify(answer))

const answered = (answer: ToolAnswer): McpSchema.CallToolResult =>
  new McpSchema.CallToolResult({
    content: [{ type: "text", text: textOf(answer) }],
    // Parsed event data would lose the digits of long numbers.
    ...(typeof answer !== "string" && { structuredContent: answer })
  })

/** Returns the refusal for a failed call. What is not the caller's fault goes to the log. */
export const refusalOf = (cause: Cause.Cause<KnownError>): Effect.Effect<RequestFailure> =>
  Effect.gen(function* () {
    if (Cause.hasInterruptsOnly(cause)) return yield* Effect.interrupt
    const { refusal, why } = outcomeOf(cause)
    if (why !== null) yield* Effect.annotateLogs(logRefusal(why), "request_id", (yield* CurrentCall)?.id)
    return refusal
  })

/** The argument by which the user's consent reaches a tool, from clients that can't ask. */
const confirm = {
  type: "boolean",
  description:
    "Set to true only after the user has agreed to what the tool said it would do. Ignored where the client asks the user itself."
} as const

/** Carries out a call: checks the scope and the arguments, asks the user if needed, and runs the tool. */
const call = (crypto: Crypto["Service"], name: string, tool: Tool, given: unknown = {}) =>
  Effect.gen(function* () {
    const current = yield* CurrentCall
    if (current === null || !mayCall(tool, current.caller)) {
      return yield* refused("insufficient_scope", `The tool needs the scope ${tool.scope}.`)
    }
    const { confirm: isConfirmed, ...others }: Readonly<Record<string, unknown>> = Object(given)
    const prepared = yield* Effect.fromResult(tool.prepare(tool.asks ? others : given, current.caller))
    if (prepared.question === null) return answered(yield* prepared.run)
    const question = yield* prepared.question
    // The question can be the same for other arguments.
    const state = yield* crypto.sha256Text(JSON.stringify([current.caller.user_id, name, others, question]))
    const consent = yield* consentTo(question, state, isConfirmed === true)
    if (consent._tag === "InputRequired") return consent
    if (consent._tag === "Refused") return failed(consent.code, consent.message)
    // A person's answer takes time.
    if (consent.waited && (yield* current.again) === null) {
      return yield* refused("invalid_token", "The access token is no longer valid. Nothing was done. Log in again.")
    }
    return answered(yield* prepared.run)
  }).pipe(
    Effect.catchCause((cause) => Effect.map(refusalOf(cause), ({ errors, message }) => failed(errors[0].code, message)))
  )

/** Offers a tool. */
export const register = (
  server: McpServer.McpServer["Service"],
  crypto: Crypto["Service"],
  name: string,
  tool: Tool
): Effect.Effect<void> => {
  const { asks, description, input, readOnly, scope, title } = tool
  const annotations = { readOnlyHint: readOnly, destructiveHint: !readOnly, idempotentHint: readOnly }
  const withConsent = { ...input, properties: { ...Object(input["properties"]), confirm } }
  const inputSchema = Schema.decodeUnknownSync(McpSchema.ToolJson)(asks ? withConsent : input)
  const _meta = { "doorhook/scope": scope }
  return server.addTool({
    tool: new McpSchema.Tool({ name, title, description, inputSchema, annotations, _meta }),
    annotations: Context.empty(),
    handle: (given: unknown) => call(crypto, name, tool, given)
  })
}
