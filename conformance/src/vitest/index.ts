/**
 * `@doorhook/conformance/vitest`: the suite as tests in a receiver's own project. The suite runs once before the tests;
 * each test reports the verdict on one requirement.
 */
import { Acknowledgement, Signature } from "@doorhook/core"
import { Console, Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { functionHook, hookPatience } from "../hooks/Commands.ts"
import { awaitReady, noHooks } from "../hooks/Hooks.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { ProbeUnusable, readReading } from "../probes/Probe.ts"
import type { Probe } from "../probes/Probe.ts"
import { defaultSettle, noMeans } from "../record/Options.ts"
import type { Means } from "../record/Options.ts"
import { exitCodeOf, exitCodes, explainRequirement, isFailure, isUndecided } from "../report/Explanation.ts"
import type { Report } from "../report/Report.ts"
import { linesOf } from "../report/Text.ts"
import { selectionFlaw, select } from "../requirements/Catalogue.ts"
import { addRules } from "../requirements/OwnRules.ts"
import type { Rules } from "../requirements/OwnRules.ts"
import type { Level, Profile } from "../requirements/Requirement.ts"
import { runSuite } from "../run/RunSuite.ts"
import type { Given } from "../run/RunSuite.ts"
import { claim } from "../run/Target.ts"
import type { ReceiverTaken } from "../run/Target.ts"

type Act = () => void | Promise<void>

/**
 * A reading of the test's probe. `data` is the data that the receiver stored. `digest` is `sha256:HEX` of its canonical
 * JSON (RFC 8785).
 */
interface Seen {
  readonly effects: number
  readonly digest?: string
  readonly data?: unknown
}

/** A running receiver, and the functions with which the suite observes and operates it. */
export interface StartedReceiver {
  /** The URL that events are posted to. */
  readonly url: string
  /** Counts the effects of an event. Levels 2 and 3 need this. */
  readonly probe?: (webhookId: string, url: string) => Seen | Promise<Seen>
  /**
   * Stops the receiver and its server and starts them again at the same URL, with the data on disk. Level 3 needs this
   * or `kill`.
   */
  readonly restart?: Act
  /** Stops the receiver abruptly, as SIGKILL does. */
  readonly kill?: Act
  readonly pause?: Act
  readonly resume?: Act
  /** Moves the receiver's clock forward. The profile `clock` needs this. */
  readonly advance?: (milliseconds: number) => void | Promise<void>
  /** Makes the receiver record one more effect on purpose, to detect a probe that can't count past one. */
  readonly double?: (webhookId: string) => void | Promise<void>
  /** Stops the receiver. Called once, at the end. */
  readonly stop?: Act
}

export interface ReceiverSuiteOptions {
  /** Starts the receiver. Called once. */
  readonly start: () => StartedReceiver | Promise<StartedReceiver>
  /**
   * Level 1, the default, needs only the URL. Level 2 also needs a probe, and level 3 also a way to restart or kill the
   * receiver. The suite fails if something that the level needs is missing.
   */
  readonly level?: Level
  readonly profiles?: ReadonlyArray<Profile>
  /** The receiver's bindings, like `access_log:create`; both types by default. */
  readonly bindings?: ReadonlyArray<"access_log:create" | "call:create">
  /** Signs the requests: the receiver's `whsec_` secret, or a `whsk_` private key if it verifies with the public key. */
  readonly secret?: string
  /** The receiver's URL for another integration, at most one. The profile `tenant` needs this. */
  readonly otherUrls?: ReadonlyArray<string>
  /** The load that the receiver is made for, in events a second. The profile `load` needs this. */
  readonly peakRate?: number
  /** Which statuses acknowledge; `200` by default. */
  readonly ack?: "200" | "2xx"
  /** How long the receiver has to acknowledge, in milliseconds; 5000 by default. */
  readonly deadline?: number
  /** Maximum deviation of a signed timestamp that the receiver accepts, in milliseconds; 300000 by default. */
  readonly tolerance?: number
  /** How long to wait for effects, in milliseconds; 10000 by default. */
  readonly settle?: number
  /** The seed of random histories; 1 by default, so that every run is the same. */
  readonly seed?: number
  /** How long the run may take, in milliseconds; 60000 by default. */
  readonly maxTime?: number
  /** Ids or patterns like `R-DUP-*`. */
  readonly only?: ReadonlyArray<string>
  readonly skip?: ReadonlyArray<string>
  /** Makes requirements of your own, with ids like `R-OWN-01`. */
  readonly rules?: Rules
  /** Called with the report, for example to write it to a file. */
  readonly onReport?: (report: Report) => void | Promise<void>
}

/** Returns what is wrong with the options, before anything is started. Returns null if they are valid. */
const lackingOptions = (options: ReceiverSuiteOptions): string | null => {
  const { level = 1, otherUrls = [], peakRate, profiles = [], secret } = options
  if (otherUrls.length > 1) {
    return `otherUrls holds ${otherUrls.length} URLs: the tenant profile compares two URLs in all, so give only one`
  }
  if (secret !== undefined && Signature.keyOf(Redacted.make(secret)) === null) {
    return "secret must be a Standard Webhooks secret: whsec_ and base64"
  }
  const probe = level === 1 ? "a probe: set level: 2 and return probe from start" : null
  const lacks: Readonly<Record<Profile, string | null>> = {
    signed: secret === undefined ? "the receiver's secret: set secret" : null,
    tenant: otherUrls.length === 0 ? "a second URL, the receiver's URL for another integration: set otherUrls" : probe,
    clock: probe,
    load: peakRate === undefined ? "the load that the receiver is made for, in events a second: set peakRate" : null
  }
  const lacking = profiles.find((profile) => lacks[profile] !== null)
  return lacking === undefined ? null : `profiles: ${lacking} needs ${lacks[lacking]}`
}

/** Returns what the result of `start` lacks; null if nothing is missing. */
const lackingMeans = (
  { level = 1, otherUrls = [], profiles = [] }: ReceiverSuiteOptions,
  { advance, kill, pause, probe, restart, resume, url }: StartedReceiver
): string | null => {
  if (otherUrls.some((other) => new URL(other).href === new URL(url).href)) {
    return "otherUrls holds the URL of start's result: the tenant profile needs the receiver's URL for another integration"
  }
  if (level >= 2 && probe === undefined) return `level: ${level} needs a probe: return probe from start`
  if (level === 3 && restart === undefined && kill === undefined) {
    return "level: 3 needs a way to end the receiver: return restart or kill from start"
  }
  if (profiles.includes("clock") && advance === undefined) {
    return "profiles: clock needs advance, which moves the receiver's clock: return it from start"
  }
  return (pause === undefined) === (resume === undefined) ? null : "pause and resume go together: give both"
}

/** Maximum time for starting and stopping, in milliseconds. */
const slack = 30_000

const wrongly = (what: string): ProbeUnusable => new ProbeUnusable({ message: `the test's probe returned ${what}` })

const probeOf = ({ probe, url: own }: StartedReceiver): Probe | null =>
  probe === undefined
    ? null
    : {
        kind: "http",
        name: "the test's own probe",
        concurrency: 8,
        read: ({ endpoint, webhookId }) =>
          Effect.tryPromise({
            try: async () => probe(webhookId, endpoint ?? own),
            catch: (error) => new ProbeUnusable({ message: `the test's probe threw: ${String(error)}` })
          }).pipe(Effect.flatMap((given) => readReading(given, wrongly)))
      }

/** The parts of the message about a receiver that was not started again by the test or its supervisor. */
const byTest = {
  what: "The receiver was not ready again",
  advice: "Does the test's `restart`, or the supervisor after `kill`, start it at the same URL?"
}

const hooksOf = ({ advance, double, kill, pause, restart, resume, url }: StartedReceiver): Hooks => ({
  ...noHooks,
  restart: functionHook("restart", restart)?.() ?? null,
  kill: functionHook("kill", kill)?.() ?? null,
  pause: functionHook("pause", pause)?.() ?? null,
  resume: functionHook("resume", resume)?.() ?? null,
  advance: functionHook("advance", advance),
  double: functionHook("double", double),
  ready: Effect.suspend(() => awaitReady(new URL(url), null, byTest)),
  names: {}
})

const givenOf = (options: ReceiverSuiteOptions, urls: Means["urls"]): Given => {
  const { ack = "200", bindings, level = 1, maxTime = 60_000, only = [], peakRate, profiles = [], skip = [] } = options
  return {
    url: urls.map(({ href }) => href),
    level,
    profile: profiles,
    binding: bindings ?? null,
    signed: options.secret !== undefined,
    ack,
    deadline: options.deadline ?? Acknowledgement.defaultDeadline,
    settle: options.settle ?? defaultSettle,
    peakRate: peakRate ?? null,
    seed: options.seed ?? 1,
    maxTime,
    only,
    skip,
    cases: null,
    ...(options.tolerance !== undefined && { tolerance: options.tolerance })
  }
}

/** Runs the suite, after any other run on this machine with the same URL has ended. */
const tested = (options: ReceiverSuiteOptions, started: StartedReceiver): Effect.Effect<Report, ReceiverTaken> => {
  const { level = 1, otherUrls = [], secret } = options
  const urls: Means["urls"] = [new URL(started.url), ...otherUrls.map((url) => new URL(url))]
  const means: Means = {
    ...noMeans,
    urls,
    probe: level === 1 ? null : probeOf(started),
    hooks: hooksOf(started),
    secret: secret === undefined ? null : Redacted.make(secret),
    repeatable: false
  }
  return Effect.scoped(Effect.andThen(claim(urls, slack / 2, Console.warn), runSuite(givenOf(options, urls), means)))
}

/** Registers `describe` with one test for each requirement of the level and the profiles. */
export const receiverSuite = (options: ReceiverSuiteOptions): void => {
  const { level = 1, maxTime = 60_000, only = [], profiles = [], skip = [] } = options
  const wrong =
    (options.rules === undefined ? null : addRules(options.rules)) ??
    lackingOptions(options) ??
    selectionFlaw({ only, skip })?.replace(/^--/, "") ??
    null
  if (wrong !== null) throw new Error(wrong)
  const { selected } = select({ level, only, skip, profile: profiles })
  describe(`doorhook receiver conformance, level ${level}`, () => {
    let stop: Act = () => undefined
    const reports: Array<Report> = []

    beforeAll(
      async () => {
        const started = await options.start()
        stop = started.stop ?? stop
        const lacking = lackingMeans(options, started)
        if (lacking !== null) throw new Error(lacking)
        const report = await Effect.runPromise(tested(options, started))
        reports.push(report)
        await options.onReport?.(report)
      },
      maxTime + slack + hookPatience
    )

    afterAll(() => stop(), slack)

    for (const { id, statement } of selected) {
      it(`${id} ${statement}`, ({ skip }) => {
        const [report] = reports
        const found = report?.requirements.find((requirement) => requirement.id === id)
        if (report === undefined || found === undefined) throw new Error(`the suite's report does not contain ${id}`)
        if (exitCodeOf(report) === exitCodes.unusable) throw new Error(report.endedBecause)
        const { observed, under, verdict } = found
        if (under !== null) skip(`${verdict}, probably caused by ${under}: ${observed}`)
        // As for the command, only a failed or undecided MUST fails a build; `onReport` shows the others.
        if (verdict !== "PASS" && !isFailure(found) && !isUndecided(found)) skip(`${verdict}: ${observed}`)
        // vitest shows the explanation as the difference between the two texts.
        expect(verdict === "PASS" ? "" : linesOf(explainRequirement(found)).join("\n")).toBe("")
      })
    }
  })
}
