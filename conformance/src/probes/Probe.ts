/**
 * The interface through which the suite observes what a receiver did: how often the effect of an event was committed.
 * This module also has the two probes that read one event at a time: a command and a URL.
 */
import { Effect, Predicate, Schedule, Schema } from "effect"
import { spawn } from "node:child_process"
import { detailOf } from "../evidence/Exchange.ts"
import type { SentEvent } from "../evidence/Trace.ts"
import { exactText, isExactNumber, parseExact } from "../history/Json.ts"
import { inShell, signalGroup } from "../hooks/Commands.ts"
import { ask, keptConnections } from "../http/Ask.ts"

/** The event whose effects are read. */
export interface Subject {
  readonly webhookId: string
  readonly resourceType: string
  /** `event.data.id` as raw JSON text, because a double might round it. */
  readonly dataId: string
  /** The URL that the event was sent to; null if there is only one. */
  readonly endpoint: string | null
}

/** Makes the subject of a reading from an event. */
export const subjectOf = ({ dataId, resourceType, webhookId }: SentEvent, endpoint: string | null): Subject => ({
  webhookId,
  resourceType,
  dataId,
  endpoint
})

export interface ProbeReading {
  readonly effects: number
  /** `sha256:HEX` of the RFC 8785 form of `event.data` as it was stored; null if the probe gives none. */
  readonly digest: string | null
  /** `event.data` as it was stored, as JSON text; null if the probe gives none. */
  readonly data: string | null
}

/** The probe returned no usable answer, so the receiver's effects are unknown. */
export class ProbeUnusable extends Schema.TaggedError<ProbeUnusable>()("ProbeUnusable", {
  /** The request, its result, and what to do. */
  message: Schema.String
}) {}

/** Describes a wrong value with its type, because a database client may return a count as a string. */
const inWords = (value: unknown): string =>
  Predicate.isString(value)
    ? `${JSON.stringify(value.slice(0, 100))}, a text`
    : Predicate.isBigInt(value)
      ? `${value}n, a bigint`
      : Predicate.isObjectKeyword(value)
        ? "an object"
        : String(value)

const fieldOf = (given: unknown, name: string): unknown =>
  Predicate.hasProperty(given, name) ? given[name] : undefined

/**
 * Checks a probe's answer. Converts digests to lower case, because the case of hex digits has no meaning (RFC 4648,
 * section 8).
 */
export const readReading = (
  given: unknown,
  unusable: (what: string) => ProbeUnusable
): Effect.Effect<ProbeReading, ProbeUnusable> => {
  const [effects, digest] = [fieldOf(given, "effects"), fieldOf(given, "digest") ?? null]
  if (!Predicate.isNumber(effects) || !Number.isSafeInteger(effects) || effects < 0) {
    return Effect.fail(unusable(`effects: ${inWords(effects)}; give a whole number, 0 or more`))
  }
  const stored = fieldOf(given, "data")
  // Reports show the data. Only the digest is judged.
  const data = stored === undefined ? null : Predicate.isString(stored) ? stored : JSON.stringify(stored)
  if (digest === null) return Effect.succeed({ effects, digest, data })
  return Predicate.isString(digest) && /^sha256:[0-9a-f]{64}$/i.test(digest)
    ? Effect.succeed({ effects, digest: digest.toLowerCase(), data })
    : Effect.fail(unusable(`digest: ${inWords(digest)}; give sha256: and 64 hex digits`))
}

/** How effects are counted. */
export const probeKinds = ["http", "exec", "log"] as const
type ProbeKind = (typeof probeKinds)[number]

export interface Probe {
  readonly kind: ProbeKind
  /** Source of the counts, for reports. */
  readonly name: string
  /** Maximum number of readings at the same time. */
  readonly concurrency: number
  readonly read: (subject: Subject) => Effect.Effect<ProbeReading, ProbeUnusable>
}

/** Time limit for the command, in milliseconds. */
const commandPatience = 15_000

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

const commandUnusable = (command: string, what: string, help = ""): ProbeUnusable =>
  new ProbeUnusable({
    message: `The probe command ${what}: ${command}. It gets EVENT_ID and DATA_ID in its environment and must print the number of effects and nothing else.${help}`
  })

/** Returns the number of effects; null if anything else was printed. */
const numberIn = (output: string): number | null => {
  const text = output.trim()
  return /^\d{1,9}$/.test(text) ? Number(text) : null
}

/** Quotes the start of a command's output. */
const quoted = (text: string): string => (text === "" ? "nothing" : JSON.stringify(text.slice(0, 100)))

/** Returns advice on an exit code other than 0. */
const helpFor = (code: number | null, output: string): string => {
  if (code === null) return ""
  if (code === 126 || code === 127) return " Does the program exist, and is it executable?"
  return numberIn(output) === null
    ? ` Run it by hand with EVENT_ID set to see why; if it fails because there is nothing to count, add: || echo 0.`
    : " The number counts only if standard error is empty: correct the error, or add 2>/dev/null."
}

/**
 * Makes the probe of a command that gets EVENT_ID, DATA_ID and RESOURCE_TYPE in its environment and prints the number
 * of effects.
 */
export const execProbe = (command: string): Probe => ({
  kind: "exec",
  name: command,
  concurrency: 8,
  read: Effect.fnUntraced(function* (subject: Subject): Effect.fn.Return<ProbeReading, ProbeUnusable> {
    const ended = yield* run(command, subject).pipe(
      Effect.timeoutOrElse({
        duration: commandPatience,
        orElse: () => Effect.fail(commandUnusable(command, `did not end within ${commandPatience} ms`))
      })
    )
    const { code, complaint, output } = ended
    const effects = numberIn(output)
    const silent = complaint.trim() === ""
    // A non-zero exit code is not always a failure: `grep -c` prints 0 and exits with 1.
    if (effects !== null && (code === 0 || (code !== null && silent))) return { effects, digest: null, data: null }
    const complained = silent ? "" : `, with ${quoted(complaint.trim().split("\n").at(-1) ?? "")} on standard error`
    const printed = `printed ${quoted(output.trim())}${complained}`
    if (code === 0) return yield* commandUnusable(command, printed)
    const how = code === null ? "did not exit normally" : `ended with ${code}`
    return yield* commandUnusable(command, `${how} and ${printed}`, helpFor(code, output))
  })
})

const decode = Schema.decodeEffect(Schema.fromJsonString(Schema.Unknown))

/** Time limit for a reading including retries, in milliseconds. */
const httpPatience = 10_000
/** Maximum number of requests at the same time. */
const concurrency = 8
/**
 * Retries of a request, for about three seconds: a receiver that starts may not listen yet, and a receiver that stops
 * closes its connections.
 */
const whileStarting = { schedule: Schedule.exponential(50), times: 6 }

const urlOf = (base: URL, { endpoint, webhookId }: Subject): URL => {
  const url = new URL(base)
  url.searchParams.set("id", webhookId)
  if (endpoint !== null) url.searchParams.set("endpoint", endpoint)
  return url
}

const httpUnusable = (base: URL, what: string): ProbeUnusable =>
  new ProbeUnusable({
    message: `The probe ${base.origin}${base.pathname} ${what}. It must answer GET ?id=... with 200 and {"effects": n}, with 0 for an unknown id.`
  })

/** Returns advice on the status of an answer that holds no count. */
const helpForStatus = (base: URL, status: number): string => {
  if (status === 404)
    return `; {"effects": 0}, not 404, for an event that it does not know. Correct --probe if nothing is served at ${base.pathname}, or the probe if it answers 404 for unknown events.`
  const limited = status === 429 || status === 503
  return `, with 0 for an unknown one. ${limited ? "If a limit refused it, the probe must not count against the limit: name the receiver's own address instead of the proxy's, or exempt the probe's path." : "Send the request by hand to see why."}`
}

/** Makes the error for a wrong status, without the values of the probe's own query, which may be secrets. */
const refused = (base: URL, { endpoint, webhookId }: Subject, status: number): ProbeUnusable => {
  const asked = `${base.origin}${base.pathname}?${base.search === "" ? "" : "...&"}id=${webhookId}${endpoint === null ? "" : "&endpoint=..."}`
  return new ProbeUnusable({
    message: `GET ${asked} was answered with ${status}. Expected: 200 and {"effects": n}, the number of effects of this event${helpForStatus(base, status)}`
  })
}

/**
 * Makes the probe of a URL that answers `GET {probe}?id=WEBHOOK_ID` with `effects`, and optionally with `digest` and
 * `data`.
 */
export const httpProbe = (base: URL): Probe => {
  const connections = keptConnections(base, concurrency)
  const read = Effect.fnUntraced(function* (subject: Subject): Effect.fn.Return<ProbeReading, ProbeUnusable> {
    const { body, status } = yield* ask(urlOf(base, subject), "GET", httpPatience, connections).pipe(
      Effect.mapError((error) => httpUnusable(base, `could not be reached (${detailOf(error)})`)),
      Effect.retry(whileStarting),
      Effect.timeoutOrElse({
        duration: httpPatience,
        orElse: () => Effect.fail(httpUnusable(base, `did not answer within ${httpPatience} ms`))
      })
    )
    if (status !== 200) return yield* refused(base, subject, status)
    const wrong = (what: string): ProbeUnusable => httpUnusable(base, `answered ${what}`)
    const given = yield* decode(body).pipe(Effect.mapError(() => wrong(JSON.stringify(body.slice(0, 100)))))
    const reading = yield* readReading(given, wrong)
    // `JSON.parse` rounds long numbers, but reports must show every digit that the probe sent.
    const stored = fieldOf(parseExact(body), "data")
    const isText = Predicate.isString(stored) && !isExactNumber(stored)
    return stored === undefined || isText ? reading : { ...reading, data: exactText(stored) }
  })
  return { kind: "http", name: `${base.origin}${base.pathname}`, concurrency, read }
}
