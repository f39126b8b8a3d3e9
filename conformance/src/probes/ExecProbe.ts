/**
 * The probe that is a command: it gets EVENT_ID, DATA_ID and RESOURCE_TYPE in its environment and prints how many effects
 * there are. Ids never become part of the command.
 */
import { Effect } from "effect"
import { spawn } from "node:child_process"
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
    const child = spawn(command, {
      shell: true,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        EVENT_ID: webhookId,
        DATA_ID: dataId,
        RESOURCE_TYPE: resourceType,
        ...(endpoint === null ? {} : { ENDPOINT: endpoint })
      }
    })
    let output = ""
    let complaint = ""
    child.stdout.on("data", (chunk) => (output += chunk))
    child.stderr.on("data", (chunk) => (complaint += chunk))
    child.on("error", (error) => resume(Effect.succeed({ code: null, output, complaint: error.message })))
    child.on("close", (code) => resume(Effect.succeed({ code, output, complaint })))
    return Effect.sync(() => endGroup(child.pid))
  })

/** Ends a command and whatever it started. */
const endGroup = (pid: number | undefined): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // It has ended by itself.
  }
}

const unusable = (command: string, what: string): ProbeUnusable =>
  new ProbeUnusable({
    message: `The probe command ${what}: ${command}. It gets EVENT_ID and DATA_ID in its environment and must print the number of effects and nothing else.`
  })

export const execProbe = (command: string): Probe => ({
  kind: "exec",
  name: command,
  concurrency: 4,
  read: Effect.fnUntraced(function* (subject: Subject): Effect.fn.Return<ProbeReading, ProbeUnusable> {
    const ended = yield* run(command, subject).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => Effect.fail(unusable(command, `did not end within ${patience} ms`))
      })
    )
    if (ended.code !== 0) {
      const why = ended.complaint.trim().split("\n").at(-1) ?? ""
      return yield* unusable(command, `ended with ${ended.code ?? "no code"}${why === "" ? "" : ` (${why})`}`)
    }
    const text = ended.output.trim()
    if (!/^\d{1,9}$/.test(text)) return yield* unusable(command, `printed ${JSON.stringify(text.slice(0, 100))}`)
    return { effects: Number(text), digest: null }
  })
})
