/**
 * Returns the `--help` text of any command, cached. Runs the commands in this process, because starting one takes
 * longer than printing its help. Run with `--conditions=source`.
 */
import { Effect } from "effect"
import { runHere } from "../packages/doorhook/test/harness/InProcess.ts"

const known = new Map<string, Promise<string>>()

const ask = async (path: ReadonlyArray<string>): Promise<string> => {
  const { code, stderr, stdout } = await Effect.runPromise(runHere([...path, "--help"], { NO_COLOR: "1" }))
  if (code !== 0) throw new Error(`doorhook ${path.join(" ")} --help: ${stderr}`)
  return stdout
}

/** Returns the help of a command. `path` is the words after `doorhook`. */
export const helpOf = (path: ReadonlyArray<string>): Promise<string> => {
  const key = path.join(" ")
  const help = known.get(key) ?? ask(path)
  known.set(key, help)
  return help
}

/** Returns the subcommands in a help text. */
export const subcommandsIn = (help: string): ReadonlyArray<string> =>
  [...(/\nSUBCOMMANDS\n([^]*?)(?:\n\n|$)/.exec(`${help}\n`)?.[1] ?? "").matchAll(/^ {2}([a-z-]+)/gm)].map(
    ([, name = ""]) => name
  )
