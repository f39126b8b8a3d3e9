/**
 * The probe that is a command: it gets EVENT_ID, DATA_ID and RESOURCE_TYPE in its environment and prints how many effects
 * there are. Ids never become part of the command.
 */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { inShell, signalGroup } from "../hooks/Commands.ts"
import type { Probe, ProbeReading, Subject } from "./Probe.ts"
import { ProbeUnusable } from "./Probe.ts"

/** How long the command may take, in milliseconds. */
const patience = 15_000

interface Ended {
  readonly code: number | null
  readonly output: string
  readonly complaint: string
}

const run = (command: string, { dataId, endpoint, resourceType, webhookId }: Subject): Effect.Effect<Ended> =>
  Effect.callback<Ended>((resume) => {
    const about = { EVENT_ID: webhookId, DATA_ID: dataId, RESOURCE_TYPE: resourceType }
    const env = endpoint === null ? about : { ...about, ENDPOINT: endpoint }
    const child = spawn(command, { ...inShell(env), stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    let complaint = ""
    child.stdout.on("data", (chunk) => (output += chunk))
    child.stderr.on("data", (chunk) => (complaint += chunk))
    child.on("error", (error) => resume(Effect.succeed({ code: null, output, complaint: error.message })))
    child.on("close", (code) => resume(Effect.succeed({ code, output, complaint })))
    return Effect.sync(() => signalGroup(child, "SIGKILL"))
  })

const unusable = (command: string, what: string, help = ""): ProbeUnusable =>
  new ProbeUnusable({
    message: `The probe command ${what}: ${command}. It gets EVENT_ID and DATA_ID in its environment and must print the number of effects and nothing else.${help}`
  })

/** The number of effects, where that is all that was printed. */
const numberIn = (output: string): number | null => {
  const text = output.trim()
  return /^\d{1,9}$/.test(text) ? Number(text) : null
}

/** What a command printed, or the end of what it complained of, short enough for a line. */
const quoted = (text: string): string => (text === "" ? "nothing" : JSON.stringify(text.slice(0, 100)))

/** What to do about an end that is not 0. */
const helpFor = (code: number | null, output: string): string => {
  if (code === null) return ""
  if (code === 126 || code === 127) return " Is what it calls there, and may it be run?"
  return numberIn(output) === null
    ? ` Run it by hand with EVENT_ID set to see why; if it ends so where there is nothing to count, add: || echo 0.`
    : " The number is taken where nothing is written to standard error: correct what it complains of, or add 2>/dev/null."
}

export const execProbe = (command: string): Probe => ({
  kind: "exec",
  name: command,
  concurrency: 8,
  read: Effect.fnUntraced(function* (subject: Subject): Effect.fn.Return<ProbeReading, ProbeUnusable> {
    const ended = yield* run(command, subject).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => Effect.fail(unusable(command, `did not end within ${patience} ms`))
      })
    )
    const { code, complaint, output } = ended
    const effects = numberIn(output)
    const silent = complaint.trim() === ""
    // Codes mean more than failures: `grep -c` prints 0 and ends with 1.
    if (effects !== null && (code === 0 || (code !== null && silent))) return { effects, digest: null, data: null }
    const complained = silent ? "" : `, with ${quoted(complaint.trim().split("\n").at(-1) ?? "")} on standard error`
    const printed = `printed ${quoted(output.trim())}${complained}`
    if (code === 0) return yield* unusable(command, printed)
    const how = code === null ? "did not end by itself" : `ended with ${code}`
    return yield* unusable(command, `${how} and ${printed}`, helpFor(code, output))
  })
})
