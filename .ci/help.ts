/**
 * What `doorhook ... --help` says, of any command, asked for once.
 */
import { execFile } from "node:child_process"
import { availableParallelism } from "node:os"
import { promisify } from "node:util"

const run = promisify(execFile)
const bin = new URL("../packages/doorhook/bin/doorhook.js", import.meta.url).pathname

/** As many processes at once as this machine has places for. */
const lanes: Array<Promise<unknown>> = Array.from({ length: availableParallelism() }, () => Promise.resolve())
let turn = 0

const ask = (path: ReadonlyArray<string>): Promise<string> => {
  const lane = turn++ % lanes.length
  const asked = (lanes[lane] ?? Promise.resolve()).then(async () => {
    const { stdout } = await run(process.execPath, [bin, ...path, "--help"], { env: { ...process.env, NO_COLOR: "1" } })
    return stdout
  })
  lanes[lane] = asked.catch(() => undefined)
  return asked
}

const known = new Map<string, Promise<string>>()

/** The help of a command, by the words after `doorhook`. */
export const helpOf = (path: ReadonlyArray<string>): Promise<string> => {
  const key = path.join(" ")
  const help = known.get(key) ?? ask(path)
  known.set(key, help)
  return help
}

/** The commands that a help lists. */
export const subcommandsIn = (help: string): ReadonlyArray<string> =>
  [...(/\nSUBCOMMANDS\n([^]*?)(?:\n\n|$)/.exec(`${help}\n`)?.[1] ?? "").matchAll(/^ {2}([a-z-]+)/gm)].map(
    ([, name = ""]) => name
  )
