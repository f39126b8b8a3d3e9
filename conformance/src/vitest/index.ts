/**
 * Registers the requirements as tests: the suite runs once before them, and each test shows the verdict of one.
 */
import { Acknowledgement, Signature } from "@doorhook/core"
import { Console, Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hook, hookPatience } from "../hooks/Commands.ts"
import { awaitReady, noHooks } from "../hooks/Hooks.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { ProbeUnusable, readReading } from "../probes/Probe.ts"
import type { Probe } from "../probes/Probe.ts"
import { defaultSettle, noMeans } from "../record/Options.ts"
import type { Means } from "../record/Options.ts"
import { exitCodeOf, exitCodes, explainRequirement } from "../report/Explanation.ts"
import type { Report } from "../report/Report.ts"
import { linesOf } from "../report/Text.ts"
import { misnamed, select } from "../requirements/Catalogue.ts"
import type { Level, Profile } from "../requirements/Requirement.ts"
import { runSuite } from "../run/RunSuite.ts"
import type { Given } from "../run/RunSuite.ts"
import { claim } from "../run/Target.ts"
import type { ReceiverTaken } from "../run/Target.ts"

type Act = () => void | Promise<void>

/** What the probe of a test gives: `digest` is `sha256:HEX` of the event's data by RFC 8785, `data` what is stored. */
interface Seen {
  readonly effects: number
  readonly digest?: string
  readonly data?: unknown
}

/** A receiver that runs, and what the suite may see and do of it. */
export interface StartedReceiver {
  /** Where events are posted. */
  readonly url: string
  /** How often an event took effect: for level 2 and 3. */
  readonly probe?: (webhookId: string, url: string) => Seen | Promise<Seen>
  /**
   * Ends the receiver, its server with it, and starts it again, at the same URL; what is on disk stays. For level 3, this or
   * `kill`.
   */
  readonly restart?: Act
  /** Ends the receiver at once, as SIGKILL does. */
  readonly kill?: Act
  readonly pause?: Act
  readonly resume?: Act
  /** Moves the receiver's clock forward: for the profile `clock`. */
  readonly advance?: (milliseconds: number) => void | Promise<void>
  /** Records one more effect on purpose: finds out a probe that can't count past one. */
  readonly double?: (webhookId: string) => void | Promise<void>
  /** Called when all is done. */
  readonly stop?: Act
}

export interface ReceiverSuiteOptions {
  /** Starts the receiver, once. */
  readonly start: () => StartedReceiver | Promise<StartedReceiver>
  /** 1: the URL alone (the default). 2: and a probe. 3: and a way to restart or kill it. Without these, the suite fails. */
  readonly level?: Level
  readonly profiles?: ReadonlyArray<Profile>
  /** What the receiver is bound to, like `access_log:create`; both types by default. */
  readonly bindings?: ReadonlyArray<"access_log:create" | "call:create">
  /** The receiver's `whsec_` secret, or the `whsk_` private key of the public one that it has; what is sent is signed with it. */
  readonly secret?: string
  /** The receiver's URL for another integration, one at most: for the profile `tenant`. */
  readonly otherUrls?: ReadonlyArray<string>
  /** Events a second: for the profile `load`. */
  readonly peakRate?: number
  /** Which statuses acknowledge; `200` by default. */
  readonly ack?: "200" | "2xx"
  /** What the sender waits, in milliseconds; 5000 by default. */
  readonly deadline?: number
  /** How old or early a signature the receiver accepts, in milliseconds; 300000 by default. */
  readonly tolerance?: number
  /** How long effects are waited for, in milliseconds; 10000 by default. */
  readonly settle?: number
  /** The same seed gives the same histories; 1 by default, so that a test is the same at every run. */
  readonly seed?: number
  /** How long all of it may take, in milliseconds; 60000 by default. */
  readonly maxTime?: number
  /** Ids or patterns like `R-DUP-*`. */
  readonly only?: ReadonlyArray<string>
  readonly skip?: ReadonlyArray<string>
  /** Given the report when there is one: to write it to a file. */
  readonly onReport?: (report: Report) => void | Promise<void>
}

/** What is wrong with the options before anything is started; null when nothing is. */
const lackingOptions = (options: ReceiverSuiteOptions): string | null => {
  const { level = 1, otherUrls = [], peakRate, profiles = [], secret } = options
  if (otherUrls.length > 1) {
    return `otherUrls holds ${otherUrls.length} URLs: the tenant profile compares two in all, so give one`
  }
  if (secret !== undefined && Signature.keyOf(Redacted.make(secret)) === null) {
    return "secret must be a Standard Webhooks secret: whsec_ and base64"
  }
  const probe = level === 1 ? "a probe: level: 2, and probe in what start gives" : null
  const lacks: Readonly<Record<Profile, string | null>> = {
    signed: secret === undefined ? "the receiver's secret: secret" : null,
    tenant: otherUrls.length === 0 ? "a second URL, the receiver's for another integration: otherUrls" : probe,
    clock: probe,
    load: peakRate === undefined ? "what the receiver is made for, in events a second: peakRate" : null
  }
  const lacking = profiles.find((profile) => lacks[profile] !== null)
  return lacking === undefined ? null : `profiles: ${lacking} needs ${lacks[lacking]}`
}

/** What the started receiver should have given, and did not; null when it did. */
const lackingMeans = (
  { level = 1, otherUrls = [], profiles = [] }: ReceiverSuiteOptions,
  { advance, kill, pause, probe, restart, resume, url }: StartedReceiver
): string | null => {
  if (otherUrls.some((other) => new URL(other).href === new URL(url).href)) {
    return "otherUrls holds the URL that start gives: the tenant profile needs the receiver's URL for another integration"
  }
  if (level >= 2 && probe === undefined) return `level: ${level} needs a probe: give probe in what start gives`
  if (level === 3 && restart === undefined && kill === undefined) {
    return "level: 3 needs a way to end the receiver: give restart or kill in what start gives"
  }
  if (profiles.includes("clock") && advance === undefined) {
    return "profiles: clock needs advance, which moves the receiver's clock: give it in what start gives"
  }
  return (pause === undefined) === (resume === undefined) ? null : "pause and resume go together: give both"
}

/** How long starting and stopping may take, in milliseconds. */
const slack = 30_000

const wrongly = (what: string): ProbeUnusable => new ProbeUnusable({ message: `the probe of the test gave ${what}` })

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
            catch: (error) => new ProbeUnusable({ message: `the probe of the test threw: ${String(error)}` })
          }).pipe(Effect.flatMap((given) => readReading(given, wrongly)))
      }

/** About a receiver that neither the test nor its supervisor started again. */
const byTest = {
  what: "The receiver was not ready again",
  advice: "Does the test's `restart`, or what watches over it after `kill`, start it at the same URL?"
}

const hooksOf = ({ advance, double, kill, pause, restart, resume, url }: StartedReceiver): Hooks => ({
  ...noHooks,
  restart: hook("restart", restart)?.() ?? null,
  kill: hook("kill", kill)?.() ?? null,
  pause: hook("pause", pause)?.() ?? null,
  resume: hook("resume", resume)?.() ?? null,
  advance: hook("advance", advance),
  double: hook("double", double),
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

/** Runs the suite, when no other run of this machine tests the same URL. */
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
  const wrong = lackingOptions(options) ?? misnamed({ only, skip })?.replace(/^--/, "") ?? null
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
        if (report === undefined || found === undefined) throw new Error(`the report of the suite lacks ${id}`)
        if (exitCodeOf(report) === exitCodes.unusable) throw new Error(report.endedBecause)
        const { observed, verdict } = found
        // A SHOULD fails no build; `onReport` shows it.
        if (verdict === "NOT_OBSERVABLE" || verdict === "SKIPPED" || verdict === "WARN") skip(`${verdict}: ${observed}`)
        // The difference that the test shows is the explanation.
        expect(verdict === "PASS" ? "" : linesOf(explainRequirement(found)).join("\n")).toBe("")
      })
    }
  })
}
