/** Receivers as written on the command line: `slow:p50=2s,p99=9s`, `2=down:09:00-15:00`, `shared,workers:40,queue:200`. */
import { DurationText } from "@doorhook/core"
import { Option, Result } from "effect"
import { ln } from "../random/Arithmetic.ts"
import type { Lognormal } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { Capacity, DownTime, ReceiverModel, Trait } from "./Receiver.ts"
import { Receiver, traits } from "./Receiver.ts"

/** What a receiver of each form does. The names are examples of the forms. */
export const receiverMeanings: Readonly<Record<string, string>> = {
  prompt: "answers in 40 ms at the median and 204 ms at the 99th percentile; the default",
  "slow:p50=2s,p99=9s": "answers with these latencies; requests that miss the deadline are processed, but sent again",
  "workers:4": "processes four requests at the same time; up to 100 more wait, others get 503",
  "workers:4,queue:100,recovery:10m": "for ten minutes after an outage it is slower, at first by a factor of five",
  "shared,workers:40,queue:200":
    "one endpoint for all integrations with these rules, as a partner has one for all buildings",
  down: "refuses connections",
  "down:09:00-15:00": "at these local hours of each day",
  "down:09:00-15:00,on=2026-03-03": "on one day",
  "down:09:00-15:00,swallow": "takes requests and never answers",
  "flaky:0.05": "answers 500 or 502, or resets the connection, without processing the request",
  "late:0.02": "processes the request, but answers after the deadline",
  "duplicate-ack-lost:0.01": "processes the request, but its answer is lost",
  "rate-limited:10/s": "answers 429 beyond this rate",
  "rate-limited:100/m,retry-after=30s": "with this `Retry-After`",
  gone: "answers 410: doorhook disables the integration",
  "gone:after=36h": "from this time on"
}

export const receiverForms: ReadonlyArray<string> = Object.keys(receiverMeanings)

/** Effect of a rule on a receiver. */
interface Kind {
  readonly trait: (() => Trait) | null
  readonly latency: Lognormal | null
  readonly capacity: Capacity | null
  /** Time of day at which the receiver is down. */
  readonly down: DownTime | null
  /** Time from the beginning of the run until the receiver is gone, in milliseconds. */
  readonly goneAfter: number | null
}

/** One `--receiver` flag. `places` is the range of integrations, numbered from 1; null for all. */
export interface ReceiverRule extends Kind {
  readonly text: string
  /** Whether the integrations of the rule have one receiver together, as a partner has one endpoint. */
  readonly isShared: boolean
  readonly places: { readonly from: number; readonly to: number } | null
}

/**
 * The receiver of an integration as a report shows it: the rules as written. The text is empty for a prompt or a real
 * receiver.
 */
export interface ReceiverDescription {
  readonly text: string
  readonly down: ReadonlyArray<DownTime>
}

export const undescribed: ReceiverDescription = { text: "", down: [] }

/** Reads a share, `95%` or `0.95`, as a number from 0 to 1. */
export const parseShare = (text: string): Option.Option<number> => {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(text)
  const value = Number(match?.[1]) / (match?.[2] === "%" ? 100 : 1)
  return value <= 1 ? Option.some(value) : Option.none()
}

/** The 99 % quantile of the standard normal distribution. */
const z99 = 2.326_347_874_040_841
const promptLatency: Lognormal = { median: 40, sigma: 0.7 }

/** Limit on the number of workers, and default length of the queue. */
const mostWorkers = 1_000
const usualQueue = 100

const nothing: Kind = { trait: null, latency: null, capacity: null, down: null, goneAfter: null }

type Read = (text: string) => Option.Option<Kind>

/** Reads pairs like `p50=2s,p99=9s` into a map. The name before the first colon is already removed. */
const membersOf = (text: string, names: ReadonlyArray<string>, sign = "="): Option.Option<Map<string, string>> => {
  const members = new Map<string, string>()
  for (const part of text.split(",")) {
    const at = part.indexOf(sign)
    const name = part.slice(0, at)
    if (at < 1 || at === part.length - 1 || !names.includes(name) || members.has(name)) return Option.none()
    members.set(name, part.slice(at + 1))
  }
  return Option.some(members)
}

const durationIn = (members: ReadonlyMap<string, string>, name: string, usual?: number): Option.Option<number> => {
  const text = members.get(name)
  return text === undefined ? Option.fromUndefinedOr(usual) : DurationText.parse(text)
}

const wholeIn = (text: string | undefined, least: number, most: number, usual?: number): Option.Option<number> =>
  text === undefined
    ? Option.fromUndefinedOr(usual)
    : Option.liftPredicate(
        /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN,
        (count) => count >= least && count <= most
      )

const readSlow: Read = (text) =>
  Option.gen(function* () {
    const members = yield* membersOf(text, ["p50", "p99"])
    const p50 = yield* durationIn(members, "p50")
    const p99 = yield* durationIn(members, "p99", 3 * p50)
    if (p50 <= 0 || p99 < p50) return yield* Option.none()
    return { ...nothing, latency: { median: p50, sigma: ln(p99 / p50) / z99 } }
  })

const readWorkers: Read = (text) =>
  Option.gen(function* () {
    const members = yield* membersOf(`workers:${text}`, ["workers", "queue", "recovery"], ":")
    const workers = yield* wholeIn(members.get("workers"), 1, mostWorkers)
    const queue = yield* wholeIn(members.get("queue"), 0, 100_000, usualQueue)
    return { ...nothing, capacity: { workers, queue, recovery: yield* durationIn(members, "recovery", 0) } }
  })

const minuteOf = (text: string): Option.Option<number> => {
  const [hour = 0, minute = 0] = text.split(":").map(Number)
  return Option.liftPredicate(hour * 60 + minute, (all) => all <= 24 * 60 && minute < 60)
}

const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)

const always: DownTime = { from: 0, to: 24 * 60, on: null, swallows: false }

const downAt = (time: DownTime): Kind => ({ ...nothing, trait: traits.down(time), down: time })

const readDown: Read = (text) =>
  Option.gen(function* () {
    const swallows = /(?:^|,)swallow$/.test(text)
    const times = text.replace(/,?swallow$/, "")
    if (times === "" && swallows) return downAt({ ...always, swallows })
    const match = /^(\d\d:\d\d)-(\d\d:\d\d)(?:,on=(.+))?$/.exec(times)
    const on = match?.[3] ?? null
    if (match === null || (on !== null && !isDate(on))) return yield* Option.none()
    const [from, to] = [yield* minuteOf(match[1] ?? ""), yield* minuteOf(match[2] ?? "")]
    if (from === to) return yield* Option.none()
    return downAt({ from, to, on, swallows })
  })

const periods: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

const readLimit: Read = (text) => {
  const match = /^(\d{1,9})\/([smh])(?:,retry-after=(.+))?$/.exec(text)
  const period = periods[match?.[2] ?? ""]
  if (match === null || period === undefined) return Option.none()
  const retryAfter = match[3] === undefined ? Option.some(null) : DurationText.parse(match[3])
  return Option.map(retryAfter, (millis) => ({
    ...nothing,
    trait: traits.rateLimited(Number(match[1]), period, millis)
  }))
}

const ofShare =
  (make: (share: number) => () => Trait): Read =>
  (text) =>
    Option.map(parseShare(text), (share) => ({ ...nothing, trait: make(share) }))

const goneFrom = (after: number): Kind => ({ ...nothing, trait: traits.gone(after), goneAfter: after })

/** For each name, its meaning without a value, and the reader for a value. Null if that form is not allowed. */
const kinds: Readonly<Record<string, readonly [alone: Kind | null, read: Read | null]>> = {
  prompt: [{ ...nothing, latency: promptLatency }, null],
  slow: [null, readSlow],
  workers: [null, readWorkers],
  down: [downAt(always), readDown],
  flaky: [null, ofShare(traits.flaky)],
  late: [{ ...nothing, trait: traits.late(0.05) }, ofShare(traits.late)],
  "duplicate-ack-lost": [null, ofShare(traits.acknowledgementLost)],
  "rate-limited": [null, readLimit],
  gone: [
    goneFrom(0),
    (text) =>
      Option.flatMap(membersOf(text, ["after"]), (members) => Option.map(durationIn(members, "after"), goneFrom))
  ]
}

/** Reads one rule, or returns a message that says what is wrong and what is accepted. */
export const readReceiver = (text: string): Result.Result<ReceiverRule, string> => {
  const wrong = (what: string) =>
    Result.fail(
      `${what}; expected one of ${receiverForms.join(" / ")}; start with 2= for the second integration or 2-5= for a range, and give the flag several times to combine behaviours`
    )
  const isShared = /^(?:[\d%-]+=)?shared(?:,|$)/.test(text.trim())
  const form = isShared
    ? text
        .trim()
        .replace(/shared(?:,|$)/, "")
        .replace(/(^|=)$/, "$1prompt")
    : text.trim()
  const match = /^(?:([\d%-]+)=)?([a-z-]+)(?::(.*))?$/.exec(form)
  const name = match?.[2] ?? ""
  const [alone = null, read = null] = (Object.hasOwn(kinds, name) ? kinds[name] : undefined) ?? []
  if (match === null || (alone === null && read === null))
    return wrong(`unknown receiver ${JSON.stringify(name || text)}`)
  const range = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(match[1] ?? "")
  const [from, to] = [Number(range?.[1] ?? 0), Number(range?.[2] ?? range?.[1] ?? 0)]
  if (match[1] !== undefined && (from < 1 || to < from))
    return wrong(`${match[1]} must be an integration's number, from 1, or a range such as 2-5`)
  const kind = match[3] === undefined ? alone : Option.getOrNull(read?.(match[3]) ?? Option.none())
  return kind === null
    ? wrong(`${name} can't be ${JSON.stringify(match[3] ?? "on its own")}`)
    : Result.succeed({ ...kind, isShared, places: match[1] === undefined ? null : { from, to }, text })
}

/** Returns the rules for an integration. `place` is its number, from 1. */
export const rulesFor = (rules: ReadonlyArray<ReceiverRule>, place: number): ReadonlyArray<ReceiverRule> =>
  rules.filter(({ places }) => places === null || (place >= places.from && place <= places.to))

/** All traits of the rules apply, but only the last latency and the last capacity. */
export const modelFor = (rules: ReadonlyArray<ReceiverRule>, place: number): ReceiverModel => {
  const own = rulesFor(rules, place)
  return {
    traits: own.flatMap(({ trait }) => trait ?? []),
    latency: own.findLast(({ latency }) => latency !== null)?.latency ?? promptLatency,
    capacity: own.findLast(({ capacity }) => capacity !== null)?.capacity ?? null
  }
}

/**
 * Returns a function that returns the receiver of an integration. Integrations with the same rules, one of them `shared`,
 * have one receiver together. `rngOf` returns the random numbers for a name.
 */
export const receiversOf = (rules: ReadonlyArray<ReceiverRule>, rngOf: (name: string) => Rng) => {
  const shared = new Map<string, Receiver>()
  return (place: number, name: string): Receiver => {
    const own = rulesFor(rules, place)
    const model = modelFor(rules, place)
    if (!own.some(({ isShared }) => isShared)) return new Receiver(model, rngOf(name))
    const key = own.map(({ text }) => text).join(" ")
    const receiver = shared.get(key) ?? new Receiver(model, rngOf(`shared ${key}`))
    shared.set(key, receiver)
    return receiver
  }
}

export const describedFor = (rules: ReadonlyArray<ReceiverRule>, place: number): ReceiverDescription => {
  const own = rulesFor(rules, place)
  return { text: own.map(({ text }) => text).join(" "), down: own.flatMap(({ down }) => down ?? []) }
}
