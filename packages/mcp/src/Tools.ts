/**
 * Tools as this package defines them, and how they answer: a failure is a result that says what to do, so that the
 * assistant can correct itself.
 */
import { InvalidInput, publicScope, schemaProblems } from "@doorhook/core"
import type { JsonText, Principal, Problem } from "@doorhook/core"
import { internalError, logRefusal, outcomeOf } from "@doorhook/server"
import type { KnownError } from "@doorhook/server"
import { Cause, Context, Effect, Option, Result, Schema } from "effect"
import { McpSchema } from "effect/ai"
import type { McpServer } from "effect/ai"

/** A failure that the assistant gets. */
class ToolFailure extends Schema.TaggedError<ToolFailure>()("ToolFailure", {
  /** A code for programs, like `not_found`. */
  code: Schema.String,
  /** What is wrong, and what to do. */
  message: Schema.String
}) {}

export type ToolError = ToolFailure | KnownError

/** What a tool returns: a JSON object, or the exact text of one. */
export type ToolAnswer = object | JsonText.JsonText

/** A call whose arguments are valid. */
interface PreparedCall {
  readonly run: (caller: Principal) => Effect.Effect<ToolAnswer, ToolError>
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** The arguments, as JSON Schema. */
  readonly input: Readonly<Record<string, unknown>>
  /** The scope that a token needs to call the tool. */
  readonly scope: string
  readonly hints: Pick<
    McpSchema.ToolAnnotations,
    "destructiveHint" | "idempotentHint" | "openWorldHint" | "readOnlyHint"
  >
  readonly prepare: (given: unknown) => Result.Result<PreparedCall, InvalidInput>
}

const title = "Invalid arguments"

/** Returns a problem for each argument that a tool does not have, because a misspelled filter would be ignored. */
const unknownNames = (given: unknown, names: ReadonlyArray<string>): ReadonlyArray<Problem> =>
  Object.keys(Object(given))
    .filter((name) => !names.includes(name))
    .map((name) => ({
      pointer: `/${name}`,
      detail:
        names.length === 0 ? "is unknown: the tool has no arguments" : `is unknown; arguments: ${names.join(", ")}`
    }))

/** The hints of tools that change nothing. */
export const readsOnly = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false
} as const

/** Makes a tool of doorhook's own, whose arguments have a schema. */
export const makeTool = <S extends Schema.Struct<Schema.Struct.Fields> & { readonly DecodingServices: never }>({
  input,
  run,
  ...described
}: Pick<Tool, "name" | "title" | "description" | "hints"> & {
  readonly input: S
  readonly run: (input: S["Type"], caller: Principal) => Effect.Effect<ToolAnswer, ToolError>
}): Tool => {
  const { schema: shape } = Schema.toJsonSchemaDocument(input, { onExcessProperty: "error" })
  const names = Object.keys(input.fields)
  const decode = Schema.decodeUnknownResult(input, { errors: "all" })
  return {
    ...described,
    scope: publicScope,
    input: { ...(names.length > 0 && shape), type: "object", additionalProperties: false },
    prepare: (given = {}) => {
      const read = decode(given)
      const unknown = unknownNames(given, names)
      return Result.match(read, {
        onFailure: (error) =>
          Result.fail(new InvalidInput({ title, problems: [...schemaProblems(error), ...unknown] })),
        onSuccess: (valid) => {
          const invalid = InvalidInput.of(title, unknown)
          return invalid === null
            ? Result.succeed({ run: (caller: Principal) => run(valid, caller) })
            : Result.fail(invalid)
        }
      })
    }
  }
}

/** The caller of the current request; null outside requests. */
export const CurrentCaller = Context.Reference<Principal | null>("@doorhook/mcp/CurrentCaller", {
  defaultValue: () => null
})

/** Whether a caller may call a tool. */
export const mayCall = ({ scope }: Tool, caller: Principal): boolean => caller.scopes.includes(scope)

const failed = (code: string, message: string): McpSchema.CallToolResult =>
  new McpSchema.CallToolResult({
    isError: true,
    content: [{ type: "text", text: message }],
    structuredContent: { error: { code, message } }
  })

const answered = (answer: ToolAnswer): McpSchema.CallToolResult =>
  typeof answer === "string"
    ? new McpSchema.CallToolResult({ content: [{ type: "text", text: answer }] })
    : new McpSchema.CallToolResult({
        content: [{ type: "text", text: JSON.stringify(answer) }],
        structuredContent: answer
      })

/** Turns a failure into a result. What is not the caller's fault goes to the log. */
const failedBy = (cause: Cause.Cause<ToolError>): Effect.Effect<McpSchema.CallToolResult> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
  const error = Cause.findErrorOption(cause)
  if (Option.isSome(error) && error.value._tag === "ToolFailure") {
    return Effect.succeed(failed(error.value.code, error.value.message))
  }
  const { refusal, why } = outcomeOf(Cause.map(cause, (one) => (one._tag === "ToolFailure" ? internalError : one)))
  const result = failed(refusal.errors[0].code, refusal.message)
  return why === null ? Effect.succeed(result) : Effect.as(logRefusal(why), result)
}

/** Offers a tool. */
export const register = (server: McpServer.McpServer["Service"], tool: Tool): Effect.Effect<void> => {
  const { description, hints, input, name, prepare, title } = tool
  const inputSchema = Schema.decodeUnknownSync(McpSchema.ToolJson)(input)
  return server.addTool({
    tool: new McpSchema.Tool({ name, title, description, inputSchema, annotations: hints }),
    annotations: Context.empty(),
    handle: (given: unknown) =>
      Effect.gen(function* () {
        const caller = yield* CurrentCaller
        if (caller === null || !mayCall(tool, caller)) {
          return yield* new ToolFailure({
            code: "insufficient_scope",
            message: `The tool needs the scope ${tool.scope}.`
          })
        }
        const prepared = yield* Effect.fromResult(prepare(given))
        return answered(yield* prepared.run(caller))
      }).pipe(Effect.catchCause(failedBy))
  })
}
