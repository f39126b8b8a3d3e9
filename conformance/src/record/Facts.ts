/**
 * What a run was about, as plain data: all that its report says of it beside what happened. A stored trace holds it, so
 * that the run can be judged anew where neither the receiver nor its probe is.
 */
import { UrlPolicy } from "@doorhook/core"
import { Schema } from "effect"
import { probeKinds } from "../probes/Probe.ts"
import { needs, profiles } from "../requirements/Profile.ts"
import type { Need } from "../requirements/Profile.ts"
import type { Settled } from "./SuiteOptions.ts"

/** Times in milliseconds. */
export const Facts = Schema.Struct({
  /** Where events were posted, without the values of its query. */
  url: Schema.String,
  /** The receiver's other URLs, without their queries. */
  otherUrls: Schema.Array(Schema.String),
  level: Schema.Literals([1, 2, 3]),
  profiles: Schema.Array(Schema.Literals(profiles)),
  only: Schema.Array(Schema.String),
  skip: Schema.Array(Schema.String),
  seed: Schema.Int,
  deadline: Schema.Finite,
  settle: Schema.Finite,
  maxTime: Schema.Finite,
  ack: Schema.Literals(["200", "2xx"]),
  dedupKey: Schema.Literals(["both", "header", "body"]),
  /** Events a second; null where none was declared. */
  peakRate: Schema.NullOr(Schema.Finite),
  /** Whether what was sent was signed. */
  signed: Schema.Boolean,
  /** Whether the target was said to be the caller's own. */
  owned: Schema.Boolean,
  probe: Schema.NullOr(Schema.Struct({ kind: Schema.Literals(probeKinds), name: Schema.String })),
  /** What there was to see and to operate the receiver with, a digest being known from the probe alone. */
  given: Schema.Array(Schema.Literals(needs)),
  /** Whether the receiver could be asked to record one more effect. */
  doubles: Schema.Boolean,
  /** How each hook is called, by its name. */
  hooks: Schema.Record(Schema.String, Schema.String),
  /** Ids of requirements that are known to fail; null without a baseline. */
  baseline: Schema.NullOr(Schema.Array(Schema.String)),
  /** Further words of the command that repeats a run: of URLs, no queries. Null of a test's run, which no command repeats. */
  repeatFlags: Schema.NullOr(Schema.Array(Schema.String))
})
export type Facts = typeof Facts.Type

const givenBy = ({ hooks, level, otherUrls, peakRate, probe, secret }: Settled): ReadonlyArray<Need> => {
  const given: Readonly<Record<Need, boolean>> = {
    effects: probe !== null && level >= 2,
    digest: probe !== null && level >= 2,
    stop: level >= 3 && (hooks.restart !== null || hooks.kill !== null),
    kill: level >= 3 && hooks.kill !== null,
    pause: hooks.pause !== null && hooks.resume !== null,
    advance: hooks.advance !== null,
    endpoints: otherUrls.length > 0,
    secret: secret !== null,
    rate: peakRate !== null
  }
  return needs.filter((need) => given[need])
}

/** The facts of a run with these options. */
export const factsOf = (options: Settled): Facts => ({
  url: UrlPolicy.shownUrl(options.url),
  otherUrls: options.otherUrls.map(UrlPolicy.shownUrl),
  level: options.level,
  profiles: options.profiles,
  only: options.only,
  skip: options.skip,
  seed: options.seed,
  deadline: options.deadline,
  settle: options.settle,
  maxTime: options.maxTime,
  ack: options.ack,
  dedupKey: options.dedupKey,
  peakRate: options.peakRate,
  signed: options.secret !== null,
  owned: options.owned,
  probe: options.probe === null ? null : { kind: options.probe.kind, name: options.probe.name },
  given: givenBy(options),
  doubles: options.hooks.double !== null,
  hooks: options.hooks.names,
  baseline: options.baseline,
  repeatFlags: options.repeatFlags
})
