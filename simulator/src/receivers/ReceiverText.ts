/**
 * Receivers as they are written on the command line: `slow:p50=2s,p99=9s`, `2=down:09:00-15:00`.
 */
import { DurationText } from "@doorhook/core"
import { Option, Result } from "effect"
import { parseShare } from "./ShareText.ts"
import type { Lognormal } from "../random/Distribution.ts"
import { ln } from "../random/Arithmetic.ts"
import type { ReceiverModel, Trait } from "./Receiver.ts"
import type { DownTime } from "./Traits.ts"
import { acknowledgementLost, allDay, down, flaky, gone, late, rateLimited } from "./Traits.ts"

/** Every form, for whoever wrote another one. */
export const receiverForms: ReadonlyArray<string> = [
  "prompt",
  "slow:p50=2s,p99=9s",
  "down",
  "down:09:00-15:00",
  "down:09:00-15:00,on=2026-03-03",
  "flaky:0.05",
  "late:0.02",
  "duplicate-ack-lost:0.01",
  "rate-limited:10/s",
  "rate-limited:100/m,retry-after=30s",
  "gone",
  "gone:after=36h"
]

const whoForms = "2=FORM for the second integration, 2-5=FORM for some, 10%=FORM for every tenth"

/** One `--receiver`: which integrations, and what they are like. */
export interface ReceiverRule {
  readonly text: string
  /** By the integration's place, from 1. */
  readonly appliesTo: (place: number) => boolean
  /** The highest place that it names; null when it names none by its number. */
  readonly lastPlace: number | null
  readonly trait: (() => Trait) | null
  readonly latency: Lognormal | null
  /** When it is down by the clock; null when it is not. */
  readonly down: DownTime | null
  /** How long after the beginning it is gone, in milliseconds; null when it is not. */
  readonly goneAfter: number | null
}

/** What an integration's receiver is like, for a report. */
export interface ReceiverDescription {
  /** The rules for it, as they were written; empty for a prompt one or a real one. */
  readonly text: string
  /** When it is down by the clock. */
  readonly down: ReadonlyArray<DownTime>
}

export const undescribed: ReceiverDescription = { text: "", down: [] }

type Read<A> = Result.Result<A, string>

/** The standard normal deviate that 99 % do not exceed. */
const z99 = 2.326_347_874_040_841

const promptLatency: Lognormal = { median: 40, sigma: 0.7 }

/** `p50=2s,p99=9s` as what it says of each name. */
const membersOf = (text: string, names: ReadonlyArray<string>): Option.Option<ReadonlyMap<string, string>> => {
  const members = new Map<string, string>()
  for (const part of text.split(",")) {
    const [name = "", value = "", ...more] = part.split("=")
    if (!names.includes(name) || value === "" || more.length > 0 || members.has(name)) return Option.none()
    members.set(name, value)
  }
  return Option.some(members)
}

const durationIn = (members: ReadonlyMap<string, string>, name: string): Option.Option<number> =>
  Option.flatMap(Option.fromUndefinedOr(members.get(name)), DurationText.parse)

const minuteOf = (text: string): Option.Option<number> => {
  const match = /^(\d\d):(\d\d)$/.exec(text)
  const minute = match === null ? Number.NaN : Number(match[1]) * 60 + Number(match[2])
  return minute <= 24 * 60 && Number(match?.[2]) < 60 ? Option.some(minute) : Option.none()
}

const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)

type Kind = Pick<ReceiverRule, "trait" | "latency" | "down" | "goneAfter">

const nothing: Kind = { trait: null, latency: null, down: null, goneAfter: null }

const downFor = (time: DownTime): Kind => ({ ...nothing, trait: down(time), down: time })

const goneFrom = (after: number): Kind => ({ ...nothing, trait: gone(after), goneAfter: after })

const readSlow = (text: string): Option.Option<Kind> =>
  Option.flatMap(membersOf(text, ["p50", "p99"]), (members) =>
    Option.flatMap(durationIn(members, "p50"), (p50) =>
      Option.flatMap(members.has("p99") ? durationIn(members, "p99") : Option.some(3 * p50), (p99) =>
        p50 > 0 && p99 >= p50
          ? Option.some({ ...nothing, latency: { median: p50, sigma: ln(p99 / p50) / z99 } })
          : Option.none()
      )
    )
  )

const readDown = (text: string): Option.Option<Kind> => {
  const match = /^(\d\d:\d\d)-(\d\d:\d\d)(?:,on=(.+))?$/.exec(text)
  const on = match?.[3] ?? null
  if (match === null || (on !== null && !isDate(on))) return Option.none()
  return Option.flatMap(minuteOf(match[1] ?? ""), (from) =>
    Option.flatMap(minuteOf(match[2] ?? ""), (to) => {
      if (from === to) return Option.none()
      return Option.some(downFor({ from, to, on }))
    })
  )
}

const periods: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

const readRate = (text: string): Option.Option<Kind> => {
  const match = /^(\d{1,9})\/([smh])(?:,retry-after=(.+))?$/.exec(text)
  const period = periods[match?.[2] ?? ""]
  if (match === null || period === undefined) return Option.none()
  const retryAfter = match[3] === undefined ? Option.some(null) : DurationText.parse(match[3])
  return Option.map(retryAfter, (millis) => ({ ...nothing, trait: rateLimited(Number(match[1]), period, millis) }))
}

const ofShare =
  (make: (share: number) => () => Trait) =>
  (text: string): Option.Option<Kind> =>
    Option.map(parseShare(text), (share) => ({ ...nothing, trait: make(share) }))

/** What may follow the name of each kind; null for what stands alone. */
const kinds: Readonly<Record<string, (text: string | null) => Option.Option<Kind>>> = {
  prompt: (text) => (text === null ? Option.some({ ...nothing, latency: promptLatency }) : Option.none()),
  slow: (text) => (text === null ? Option.none() : readSlow(text)),
  down: (text) => (text === null ? Option.some(downFor(allDay)) : readDown(text)),
  flaky: (text) => (text === null ? Option.none() : ofShare(flaky)(text)),
  late: (text) => ofShare(late)(text ?? "0.05"),
  "duplicate-ack-lost": (text) => (text === null ? Option.none() : ofShare(acknowledgementLost)(text)),
  "rate-limited": (text) => (text === null ? Option.none() : readRate(text)),
  gone: (text) => {
    if (text === null) return Option.some(goneFrom(0))
    return Option.flatMap(membersOf(text, ["after"]), (members) => Option.map(durationIn(members, "after"), goneFrom))
  }
}

type Who = Pick<ReceiverRule, "appliesTo" | "lastPlace">

const everybody: Who = { appliesTo: () => true, lastPlace: null }

const readWho = (text: string): Option.Option<Who> => {
  const range = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(text)
  if (range !== null) {
    const from = Number(range[1])
    const to = Number(range[2] ?? range[1])
    if (from < 1 || to < from) return Option.none()
    return Option.some({ appliesTo: (place) => place >= from && place <= to, lastPlace: to })
  }
  const every = /^(\d{1,3})%$/.exec(text)
  const percent = Number(every?.[1] ?? 0)
  // In whole numbers: 100 times 0.29 is a little less than 29.
  const among = (places: number): number => Math.floor((places * percent) / 100)
  // Spread evenly: the place is in when the count of those before it goes up with it.
  return percent > 0 && percent <= 100
    ? Option.some({ appliesTo: (place) => among(place) > among(place - 1), lastPlace: null })
    : Option.none()
}

/** Reads one rule; what is wrong with it, and all that is accepted, when it is none. */
export const readReceiver = (text: string): Read<ReceiverRule> => {
  const wrong = (what: string): Read<ReceiverRule> =>
    Result.fail(`${what}; expected one of ${receiverForms.join(" / ")}; before it ${whoForms}`)
  const match = /^(?:([\d%-]+)=)?([a-z-]+)(?::(.*))?$/.exec(text.trim())
  const name = match?.[2] ?? ""
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
  if (match === null || kind === undefined) return wrong(`there is no receiver ${JSON.stringify(name || text)}`)
  const who = match[1] === undefined ? Option.some(everybody) : readWho(match[1])
  if (Option.isNone(who)) return wrong(`${match[1]} names no integrations`)
  return Option.match(kind(match[3] ?? null), {
    onNone: () => wrong(`${name} can't be ${JSON.stringify(match[3] ?? "without more")}`),
    onSome: (read) => Result.succeed({ ...read, ...who.value, text })
  })
}

/** What an integration's receiver is like, given all rules: traits add up, the last latency holds. */
export const modelFor = (rules: ReadonlyArray<ReceiverRule>, place: number): ReceiverModel => {
  const own = rules.filter(({ appliesTo }) => appliesTo(place))
  return {
    traits: own.flatMap(({ trait }) => trait ?? []),
    latency: own.findLast(({ latency }) => latency !== null)?.latency ?? promptLatency
  }
}

/** The same in words and windows, for a report. */
export const describedFor = (rules: ReadonlyArray<ReceiverRule>, place: number): ReceiverDescription => {
  const own = rules.filter(({ appliesTo }) => appliesTo(place))
  return { text: own.map(({ text }) => text).join(" "), down: own.flatMap(({ down }) => down ?? []) }
}
