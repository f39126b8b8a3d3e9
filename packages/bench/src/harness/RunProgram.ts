/**
 * Runs programs in separate processes until they end.
 */
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"

/** Error for a failed program. The program's own message is on standard error. */
export class ProgramFailed extends Schema.TaggedError<ProgramFailed>()("ProgramFailed", {
  what: Schema.String,
  code: Schema.NullOr(Schema.Int)
}) {
  override get message(): string {
    return `the process of ${this.what} ended with code ${this.code}`
  }
}

/** The Node.js flags that the `doorhook` command sets for itself (`packages/doorhook/bin/doorhook.js`). */
export const commandFlags = ["--max-semi-space-size=16", "--heap-growing-percent=100"]

/**
 * Runs a program of this package until it ends, with the flags of the `doorhook` command. Returns its output, parsed as
 * JSON but not validated.
 */
export const runProgram = <A>(
  what: string,
  program: string,
  args: ReadonlyArray<string>,
  input = ""
): Effect.Effect<A, ProgramFailed> =>
  Effect.gen(function* () {
    const { code, printed } = yield* Effect.promise(async (signal) => {
      const child = spawn(process.execPath, [...commandFlags, "--conditions=source", program, ...args], {
        stdio: ["pipe", "pipe", "inherit"],
        signal,
        killSignal: "SIGKILL"
      })
      child.stdin.end(input)
      const [printed, [code]]: readonly [string, ReadonlyArray<number | null>] = await Promise.all([
        text(child.stdout),
        once(child, "close")
      ])
      return { code: code ?? null, printed }
    })
    if (code !== 0) return yield* new ProgramFailed({ what, code })
    const answer: A = JSON.parse(printed)
    return answer
  })
