/**
 * What `conformance run` was called with, checked before anything is sent.
 */
import { CommandFailure, Signature } from "@doorhook/core"
import type { Acknowledgement } from "@doorhook/core"
import { Effect, Option, Redacted, Result } from "effect"
import { entriesOf } from "../CommaList.ts"
import type { DedupKey } from "../checks/Terms.ts"
import * as Target from "../executor/Target.ts"
import { secretVariable } from "../report/Rerun.ts"
import type { Profile } from "../requirements/Profile.ts"
import { profiles } from "../requirements/Profile.ts"
import type { Level } from "../requirements/Requirement.ts"
import { seedLimit } from "../run/RunSuite.ts"

type Text = Option.Option<string>

/** What the flags that every command about a target has say. */
export interface TargetFlags {
  readonly url: ReadonlyArray<string>
  readonly probe: Text
  readonly restartCmd: Text
  readonly killCmd: Text
  readonly readyUrl: Text
  readonly pauseCmd: Text
  readonly resumeCmd: Text
  readonly advanceCmd: Text
  readonly controlUrl: Text
  readonly spawn: Text
  readonly portEnv: Text
  readonly secret: Option.Option<Redacted.Redacted<string>>
  /** The text of a file that holds the secret. */
  readonly secretFile: Text
  /** None: as high as flags give means for; what a control URL offers is known to nobody yet. */
  readonly level: Option.Option<number>
  readonly profile: ReadonlyArray<string>
  readonly peakRate: Text
  readonly ack: Acknowledgement.AcknowledgementRule
  readonly deadline: number
  readonly settle: number
  readonly dedupKey: DedupKey
  readonly seed: Option.Option<number>
  readonly maxTime: number
  readonly report: ReadonlyArray<string>
  readonly cases: string
  readonly owned: boolean
}

/** The shortest deadline that the suite can time, in milliseconds. */
const leastDeadline = 200

type Reading<A> = Effect.Effect<A, CommandFailure>

const isProfile = (text: string): text is Profile => profiles.some((profile) => profile === text)

const readProfiles = (texts: ReadonlyArray<string>): Reading<ReadonlyArray<Profile>> => {
  const words = entriesOf(texts)
  const unknown = words.find((word) => !isProfile(word))
  return unknown === undefined
    ? Effect.succeed([...new Set(words.filter(isProfile))])
    : Effect.fail(
        CommandFailure.usage(`--profile ${unknown}: there is no such profile; there are ${profiles.join(", ")}`)
      )
}

const readLevel = ({ controlUrl, killCmd, level: asked, probe, restartCmd, spawn }: TargetFlags): Reading<Level> => {
  if (Option.isNone(asked)) {
    const hasHook = [killCmd, restartCmd, spawn].some(Option.isSome)
    return Effect.succeed(Option.isNone(probe) ? 1 : hasHook ? 3 : 2)
  }
  const level = asked.value
  if (level !== 1 && level !== 2 && level !== 3) {
    return Effect.fail(CommandFailure.usage(`--level ${level}: there is no such level; there are 1, 2 and 3`))
  }
  if (level >= 2 && Option.isNone(probe)) {
    return Effect.fail(
      CommandFailure.usage(`--level ${level} needs a probe: --probe http:URL, exec:CMD, log:FILE:REGEX or sink:PORT`)
    )
  }
  const canStop = [killCmd, restartCmd, spawn, controlUrl].some(Option.isSome)
  return level === 3 && !canStop
    ? Effect.fail(
        CommandFailure.usage("--level 3 needs a way to end the receiver: --restart-cmd, --kill-cmd or --spawn")
      )
    : Effect.succeed(level)
}

/** Events a second from `50/s` or `3000/m`. */
const readRate = (text: Text): Reading<number | null> => {
  if (Option.isNone(text)) return Effect.succeed(null)
  const match = /^(\d+(?:\.\d+)?)(?:\/(s|m))?$/.exec(text.value.trim())
  const rate = match === null ? 0 : Number(match[1]) / (match[2] === "m" ? 60 : 1)
  return rate > 0 && rate <= 10_000
    ? Effect.succeed(rate)
    : Effect.fail(
        CommandFailure.usage(
          `--peak-rate ${text.value}: write events a second like 50/s, or a minute like 3000/m; at most 10000/s`
        )
      )
}

const readSecret = ({ secret, secretFile }: TargetFlags): Reading<Redacted.Redacted<string> | null> => {
  const fromFile = Option.map(secretFile, (text) => Redacted.make(text.trim()))
  if (Option.isSome(secret) && Option.isSome(fromFile)) {
    return Effect.fail(
      CommandFailure.usage(`give --secret or --secret-file, not both (${secretVariable} counts as --secret)`)
    )
  }
  const given = Option.getOrNull(Option.orElse(secret, () => fromFile))
  return given === null || Signature.keyOf(given) !== null
    ? Effect.succeed(given)
    : Effect.fail(
        CommandFailure.usage(`--secret (or ${secretVariable}) must be a Standard Webhooks secret: whsec_ and base64`)
      )
}

/** An URL of a flag other than `--url`. */
const readUrl = (flag: string, text: Text): Reading<URL | null> => {
  if (Option.isNone(text)) return Effect.succeed(null)
  return Effect.fromResult(
    Result.mapError(Target.parse(text.value), ({ message }) => CommandFailure.usage(message.replace("--url", flag)))
  )
}

const needed = (chosen: ReadonlyArray<Profile>, has: Readonly<Record<Profile, boolean>>): string | null => {
  const what: Readonly<Record<Profile, string>> = {
    signed: `--profile signed needs the receiver's secret: --secret-file FILE, or ${secretVariable}`,
    tenant: "--profile tenant needs a second --url: the receiver's URL for another integration",
    clock: "--profile clock needs --advance-cmd: a command that moves the receiver's clock",
    load: "--profile load needs --peak-rate: what the receiver is made for, like 50/s"
  }
  const lacking = chosen.find((profile) => !has[profile])
  return lacking === undefined ? null : what[lacking]
}

/** The first flag for a command that holds none, as an unset variable does. */
const emptyCommand = (flags: TargetFlags): string | undefined => {
  const { advanceCmd, killCmd, pauseCmd, restartCmd, resumeCmd, spawn } = flags
  const commands = {
    "--restart-cmd": restartCmd,
    "--kill-cmd": killCmd,
    "--pause-cmd": pauseCmd,
    "--resume-cmd": resumeCmd,
    "--advance-cmd": advanceCmd,
    "--spawn": spawn
  }
  return Object.entries(commands).find(([, text]) => Option.isSome(text) && text.value.trim() === "")?.[0]
}

const checkPairs = (flags: TargetFlags): Reading<void> => {
  const given = (text: Text): boolean => Option.isSome(text)
  const wrong = ((): string | null => {
    const empty = emptyCommand(flags)
    if (empty !== undefined) return `${empty}: the command is missing`
    if (given(flags.pauseCmd) !== given(flags.resumeCmd)) return "--pause-cmd and --resume-cmd go together: give both"
    if (given(flags.portEnv) && !given(flags.spawn)) return "--port-env is for --spawn: give both"
    if (given(flags.spawn) && [flags.restartCmd, flags.killCmd, flags.pauseCmd].some(given)) {
      return "--spawn operates the receiver itself: leave --restart-cmd, --kill-cmd, --pause-cmd and --resume-cmd out"
    }
    if (flags.deadline < leastDeadline) return `--deadline must be at least ${leastDeadline}ms: less can't be timed`
    if (flags.maxTime <= 0) return "--max-time must be more than 0s"
    if (flags.settle <= 0) return "--settle must be more than 0s"
    const seed = Option.getOrElse(flags.seed, () => 0)
    return seed < 0 || seed >= seedLimit ? `--seed must be a whole number from 0 to ${seedLimit - 1}` : null
  })()
  return wrong === null ? Effect.void : Effect.fail(CommandFailure.usage(wrong))
}

/** What the flags mean. */
export interface Checked {
  readonly url: URL
  readonly otherUrls: ReadonlyArray<URL>
  readonly level: Level
  readonly profiles: ReadonlyArray<Profile>
  /** Events a second. */
  readonly peakRate: number | null
  readonly secret: Redacted.Redacted<string> | null
  readonly readyUrl: URL | null
  readonly controlUrl: URL | null
}

/** Finds what is wrong with the flags. */
export const checkFlags = Effect.fnUntraced(function* (flags: TargetFlags): Effect.fn.Return<Checked, CommandFailure> {
  const [url, ...otherUrls] = yield* Effect.fromResult(Result.all(flags.url.map(Target.parse)))
  if (url === undefined) return yield* CommandFailure.usage("--url is missing: where are events to be posted?")
  if (otherUrls.length > 1) {
    return yield* CommandFailure.usage(
      `--url was given ${flags.url.length} times: the tenant profile compares two, so give two, and run again for others`
    )
  }
  if (otherUrls.some(({ href }) => href === url.href)) {
    return yield* CommandFailure.usage(
      "--url was given twice with one URL: the tenant profile needs the receiver's URL for another integration"
    )
  }
  yield* checkPairs(flags)
  const level = yield* readLevel(flags)
  const chosen = yield* readProfiles(flags.profile)
  const peakRate = yield* readRate(flags.peakRate)
  const secret = yield* readSecret(flags)
  const readyUrl = yield* readUrl("--ready-url", flags.readyUrl)
  const controlUrl = yield* readUrl("--control-url", flags.controlUrl)
  const lacking = needed(chosen, {
    signed: secret !== null,
    tenant: otherUrls.length > 0,
    clock: Option.isSome(flags.advanceCmd) || controlUrl !== null,
    load: peakRate !== null
  })
  if (lacking !== null) return yield* CommandFailure.usage(lacking)
  if (chosen.includes("tenant") && level === 1) {
    return yield* CommandFailure.usage("--profile tenant needs a probe: --level 2 --probe ...")
  }
  if (chosen.includes("clock") && level === 1) {
    return yield* CommandFailure.usage("--profile clock needs a probe: --level 2 --probe ...")
  }
  return { url, otherUrls, level, profiles: chosen, peakRate, secret, readyUrl, controlUrl }
})
