/**
 * What `conformance run` was called with, checked.
 */
import { CommandFailure, Signature } from "@doorhook/core"
import type { Acknowledgement } from "@doorhook/core"
import { Effect, Option, Random, Redacted } from "effect"
import * as Target from "../executor/Target.ts"
import * as Reports from "../report/Reports.ts"
import { secretVariable } from "../report/Rerun.ts"
import type { Invocation } from "../report/Rerun.ts"
import type { Level } from "../requirements/Requirement.ts"

/** What the flags of the command say. */
export interface RunFlags {
  readonly url: string
  readonly level: number
  readonly secret: Option.Option<Redacted.Redacted<string>>
  /** The text of a file that holds the secret. */
  readonly secretFile: Option.Option<string>
  readonly ack: Acknowledgement.AcknowledgementRule
  readonly deadline: number
  readonly seed: Option.Option<number>
  readonly maxTime: number
  readonly only: ReadonlyArray<string>
  readonly skip: ReadonlyArray<string>
  readonly report: ReadonlyArray<string>
  readonly owned: boolean
}

/** The shortest deadline that the suite can time, in milliseconds. */
const leastDeadline = 200

/** Seeds are what fits in 31 bits. */
const seedLimit = 2 ** 31

const notBuilt: Readonly<Record<number, string>> = {
  2: "level 2 needs a probe, and this version has none yet",
  3: "level 3 needs a probe and a way to restart the receiver, and this version has neither yet"
}

const checkLevel = (level: number): Effect.Effect<Level, CommandFailure> =>
  level === 1
    ? Effect.succeed(1)
    : Effect.fail(
        CommandFailure.usage(`--level ${level}: ${notBuilt[level] ?? "there is no such level"}; --level 1 is there`)
      )

const checkSecret = ({
  secret,
  secretFile
}: RunFlags): Effect.Effect<Redacted.Redacted<string> | null, CommandFailure> => {
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

/** Finds what is wrong with the flags before anything is sent. */
export const checkFlags = Effect.fnUntraced(function* (flags: RunFlags) {
  const url = yield* Effect.fromResult(Target.parse(flags.url))
  const level = yield* checkLevel(flags.level)
  const requests = yield* Effect.fromResult(Reports.parse(flags.report))
  yield* Reports.checkWritable(requests)
  if (flags.deadline < leastDeadline) {
    return yield* CommandFailure.usage(`--deadline must be at least ${leastDeadline}ms: less can't be timed`)
  }
  if (flags.maxTime <= 0) return yield* CommandFailure.usage("--max-time must be more than 0s")
  const secret = yield* checkSecret(flags)
  const seed = Option.isSome(flags.seed) ? flags.seed.value : yield* Random.nextIntBetween(0, seedLimit)
  if (seed < 0 || seed >= seedLimit) {
    return yield* CommandFailure.usage(`--seed must be a whole number from 0 to ${seedLimit - 1}`)
  }
  const { ack: rule, deadline, owned } = flags
  const invocation: Invocation = { url, seed, deadline, rule, owned, signed: secret !== null }
  return { invocation, level, requests, secret }
})
