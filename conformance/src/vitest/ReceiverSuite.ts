/**
 * Registers the requirements as tests: the suite runs once before them, and each test tells what came of one.
 */
import { Console, Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { noHooks } from "../hooks/Hooks.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { hookPatience } from "../hooks/ShellCommand.ts"
import { awaitReady } from "../hooks/Ready.ts"
import { ProbeUnusable, readReading } from "../probes/Probe.ts"
import type { Probe } from "../probes/Probe.ts"
import type { Profile } from "../requirements/Profile.ts"
import { misnamed, select } from "../requirements/Selection.ts"
import type { Level } from "../requirements/Requirement.ts"
import { explain } from "../report/Console.ts"
import { exitCodeOf, exitCodes } from "../report/ExitCode.ts"
import type { Report } from "../report/Report.ts"
import { claim } from "../run/Claim.ts"
import type { ReceiverTaken } from "../run/Claim.ts"
import { runSuite } from "../run/RunSuite.ts"
import type { SuiteOptions } from "../record/SuiteOptions.ts"
import { lackingMeans, lackingOptions } from "./Lacking.ts"
import { hook } from "./TestHook.ts"
import { inTestWords } from "./TestWords.ts"

type Act = () => void | Promise<void>

/** A receiver that runs, and what the suite may see and do of it. */
export interface StartedReceiver {
  /** Where events are posted. */
  readonly url: string
  /** How often an event took effect: for level 2 and 3. `digest` is `sha256:HEX` of its data by RFC 8785. */
  readonly probe?: (
    webhookId: string,
    url: string
  ) =>
    | { readonly effects: number; readonly digest?: string }
    | Promise<{ readonly effects: number; readonly digest?: string }>
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
  /** The receiver's `whsec_` secret; what is sent is signed with it. */
  readonly secret?: string
  /** The receiver's URL for another integration, one at most: for the profile `tenant`. */
  readonly otherUrls?: ReadonlyArray<string>
  /** Events a second: for the profile `load`. */
  readonly peakRate?: number
  /** Which statuses acknowledge; `200` by default. */
  readonly ack?: "200" | "2xx"
  /** What the sender waits, in milliseconds; 5000 by default. */
  readonly deadline?: number
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

/** What more than the run itself starting and stopping may take, in milliseconds. */
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

/** What is told of a receiver that neither the test nor its supervisor started again. */
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

/** Runs the suite, when no other run of this machine tests the same URL. */
const tested = (options: SuiteOptions): Effect.Effect<Report, ReceiverTaken> =>
  Effect.scoped(
    Effect.andThen(claim([options.url, ...(options.otherUrls ?? [])], slack / 2, Console.warn), runSuite(options))
  )

/** Registers `describe` with one test for each requirement of the level and the profiles. */
export const receiverSuite = (options: ReceiverSuiteOptions): void => {
  const { level = 1, maxTime = 60_000, only = [], otherUrls = [], profiles = [], skip = [] } = options
  const wrong = lackingOptions(options) ?? misnamed({ only, skip })?.replace(/^--/, "") ?? null
  if (wrong !== null) throw new Error(wrong)
  const { selected } = select({ level, only, skip, profiles })
  describe(`doorhook receiver conformance, level ${level}`, () => {
    let stop: Act = () => undefined
    const reports: Array<Report> = []

    beforeAll(
      async () => {
        const started = await options.start()
        stop = started.stop ?? stop
        const lacking = lackingMeans(options, started)
        if (lacking !== null) throw new Error(lacking)
        const report = await Effect.runPromise(
          tested({
            url: new URL(started.url),
            otherUrls: otherUrls.map((url) => new URL(url)),
            level,
            profiles,
            probe: level === 1 ? null : probeOf(started),
            hooks: hooksOf(started),
            secret: options.secret === undefined ? null : Redacted.make(options.secret),
            seed: options.seed ?? 1,
            maxTime,
            only,
            skip,
            repeatFlags: null,
            ...(options.ack !== undefined && { ack: options.ack }),
            ...(options.deadline !== undefined && { deadline: options.deadline }),
            ...(options.settle !== undefined && { settle: options.settle }),
            ...(options.peakRate !== undefined && { peakRate: options.peakRate })
          })
        )
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
        if (report === undefined || found === undefined) throw new Error(`the suite said nothing of ${id}`)
        if (exitCodeOf(report) === exitCodes.unusable) throw new Error(report.endedBecause)
        if (found.verdict === "NOT_OBSERVABLE" || found.verdict === "SKIPPED")
          skip(`${found.verdict}: ${inTestWords(found.observed)}`)
        // A SHOULD fails nobody's build; it is seen with `onReport`.
        if (found.verdict === "WARN") skip(`WARN: ${inTestWords(found.observed)}`)
        // All there is to say of it is what the test shows.
        const story = found.verdict === "PASS" ? "" : inTestWords(explain(found, report.requirements).join("\n").trim())
        expect(story).toBe("")
      })
    }
  })
}
