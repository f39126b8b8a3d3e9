/**
 * Tools of the host's own, like one that opens a door: as the host writes them, in plain JavaScript.
 */
import { DataSchema, InvalidInput, isoOf, JsonText, publicScope } from "@doorhook/core"
import type { RequestFailure } from "@doorhook/server"
import { Effect, Predicate, Result } from "effect"
import type { Tool } from "./Tools.ts"
import { ownNames } from "./OwnTools.ts"
import { invalidArguments, refused } from "./Tools.ts"

/** The user and the client that a tool works for. */
export interface ToolCaller {
  /** The user's id in the directory. */
  readonly user_id: string
  /** The client that acts for the user. */
  readonly client_id: string
  /** The scopes of the access token. */
  readonly scopes: ReadonlyArray<string>
  /** When the access token ends, in ISO 8601. */
  readonly expires_at: string
}

/** Arguments of a tool, which fit its `input`. */
export type ToolInput = Readonly<Record<string, unknown>>

/** A tool of the host's own. */
export interface HostTool {
  /** The name that people see. Default: the tool's name. */
  readonly title?: string | undefined
  /** What the tool does and when to use it, for the assistant. */
  readonly description: string
  /** The scope that a token needs, as declared in `scopes` of `createDoorhook`. Default: `public`. */
  readonly scope?: string | undefined
  /** JSON Schema 2020-12 of the arguments: an object. Default: no arguments. */
  readonly input?: Readonly<Record<string, unknown>> | undefined
  /** Whether the tool changes nothing. Default false. */
  readonly readOnly?: boolean | undefined
  /** What will happen, as a question: the user must agree before `run` is called. Default: the user is not asked. */
  readonly confirm?: ((input: ToolInput, caller: ToolCaller) => string | Promise<string>) | undefined
  /**
   * Carries out the call, and returns an object or nothing. Must check what the user may do. Throw a `ToolError` to
   * report a problem to the assistant; of other errors, it gets only that something went wrong.
   */
  readonly run: (input: ToolInput, caller: ToolCaller) => unknown
}

/** A problem that the assistant should know about. */
export class ToolError extends Error {
  /** A code for programs, like `not_found`. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = "ToolError"
    this.code = code
  }
}

/** How long a tool may take, in milliseconds. */
const deadline = 60_000

const anyObject = { type: "object", properties: {}, additionalProperties: false } as const

const isText = (given: unknown): boolean => Predicate.isString(given) && given.trim() !== ""

/** Returns what is wrong with a host's tools. */
const problemsOf = (tools: Readonly<Record<string, HostTool>>) =>
  Object.entries(tools).flatMap(([name, tool]): ReadonlyArray<string> => {
    const { confirm, description, input = anyObject, run, scope, title }: Partial<HostTool> = Object(tool)
    const checked = Result.match(DataSchema.checkerOf(input), { onFailure: (why) => why, onSuccess: () => null })
    const rules: ReadonlyArray<readonly [boolean, string, string]> = [
      [
        /^[\w-]{1,64}$/.test(name) && !ownNames.some((own) => own === name),
        "",
        "needs a free name of letters, digits, _ and -"
      ],
      [isText(description), ".description", "must say what the tool does"],
      [title === undefined || isText(title), ".title", "must be a text"],
      [scope === undefined || isText(scope), ".scope", "must be a scope, like doors:open"],
      [Predicate.isFunction(run), ".run", "must be a function"],
      [confirm === undefined || Predicate.isFunction(confirm), ".confirm", "must be a function"],
      [input["type"] === "object", ".input", 'must be JSON Schema with "type": "object"'],
      [checked === null, ".input", `can't be checked: ${checked}`],
      [!Object.hasOwn(Object(input["properties"]), "confirm"), ".input", "must not have an argument confirm"]
    ]
    return rules.flatMap(([isRight, place, rule]) => (isRight ? [] : [`tools.${name}${place}: ${rule}`]))
  })

/** Calls a function of the host, within a time limit. Its own errors go to the log. */
const callHost = <A>(name: string, run: () => A | Promise<A>): Effect.Effect<A, RequestFailure> =>
  Effect.tryPromise({ try: async () => run(), catch: (error) => error }).pipe(
    Effect.timeoutOrElse({
      duration: deadline,
      orElse: () =>
        Effect.fail(new ToolError("timeout", `${name} took more than ${deadline / 1_000} s. It may still go on.`))
    }),
    Effect.catch((error) =>
      error instanceof ToolError ? Effect.fail(refused(error.code, error.message)) : Effect.die(error)
    )
  )

/** Makes a tool of a host, whose definition has no problems. */
const makeHostTool = (name: string, host: HostTool): Tool => {
  const { confirm, description, input = anyObject, readOnly = false, run, scope = publicScope, title = name } = host
  const described = { title, description, input, scope, readOnly, asks: confirm !== undefined }
  const problemsIn = Result.getOrThrow(DataSchema.checkerOf(input))
  return {
    ...described,
    prepare: (given, { client_id, expires_at, scopes, user_id }) => {
      const problems = problemsIn(JsonText.JsonText.make(JSON.stringify(given)))
      const invalid = InvalidInput.of(invalidArguments, problems)
      if (invalid !== null) return Result.fail(invalid)
      const read: ToolInput = Object(given)
      const caller = { user_id, client_id, scopes, expires_at: isoOf(expires_at) }
      return Result.succeed({
        question: confirm === undefined ? null : callHost(name, () => confirm(read, caller)),
        run: Effect.map(
          callHost(name, () => run(read, caller)),
          (answer) => (Predicate.isObject(answer) ? answer : { result: answer ?? null })
        )
      })
    }
  }
}

/** Makes the tools of a host. Throws a `TypeError` that lists all problems. */
export const makeHostTools = (tools: Readonly<Record<string, HostTool>>): ReadonlyMap<string, Tool> => {
  const problems = problemsOf(tools)
  if (problems.length > 0) throw new TypeError(`mcp: ${problems.join("; ")}`)
  return new Map(Object.entries(tools).map(([name, tool]) => [name, makeHostTool(name, tool)]))
}
