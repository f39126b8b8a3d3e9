/**
 * The texts of all pages by language. English and German are built in; a host may change texts or add languages. A page
 * is shown in the available language that the browser's `Accept-Language` prefers.
 *
 * The tables include core's sentences, for example why a delivery failed or what is wrong with a URL.
 */
import { Html, isoOf, RecentMap } from "@doorhook/core"
import type { SentenceValue } from "@doorhook/core"
import { Context, Record, Result, Schema, Struct } from "effect"
import type { Exchange } from "../http/Exchange.ts"
import type { PageSentence } from "../http/Failures.ts"
import type { TextKey, Texts } from "./texts/texts.ts"
import { de, en } from "./texts/texts.ts"

export type { TextKey }

/** Keys with a singular and a plural text, `X_one` and `X_other`. */
type CountKey = TextKey extends infer Key ? (Key extends `${infer Base}_one` ? Base : never) : never

/**
 * A host's texts, by language (BCP 47). A missing text is replaced by doorhook's own text in that language, or else in
 * English.
 */
export const TextsShape = Schema.Record(
  Schema.String,
  Schema.Record(Schema.Literals(Struct.keys(en)), Schema.optionalKey(Schema.String))
)
export type TextsShape = typeof TextsShape.Type

/** The host's texts, read when the routes are built. */
export const HostTexts = Context.Reference<TextsShape>("@doorhook/server/ui/HostTexts", { defaultValue: () => ({}) })

const isTextKey = (key: string): key is TextKey => Object.hasOwn(en, key)

type Values = Readonly<Record<string, string | number>>

/** A language with its texts and its formats for numbers and times. */
export interface Language {
  /** Language tag (BCP 47). */
  readonly lang: string
  /** Returns a text, with values in place of its `{placeholders}`. */
  readonly t: (key: TextKey, values?: Values) => string
  /** Returns a text as HTML, with HTML in place of its placeholders. */
  readonly html: (key: TextKey, parts: Readonly<Record<string, Html.Part>>) => Html.Html
  /**
   * Formats sentences as HTML, separated by spaces. A failure's technical details stay in English and are marked as
   * English.
   */
  readonly say: (said: ReadonlyArray<PageSentence>) => Html.Html
  /** Formats a number of things, like `2 attempts`. */
  readonly count: (key: CountKey, n: number) => string
  readonly number: (n: number) => string
  /** Time zone of all times (IANA name). */
  readonly zone: string
  /** Returns the same language with times in another zone. */
  readonly inZone: (zone: string) => Language
  /** Formats a time with its date and zone. */
  readonly time: (millis: number) => string
  /** Formats a share (0 to 1) as a percentage. */
  readonly percent: (share: number) => string
  /** Formats a time as day and month. */
  readonly day: (millis: number) => string
  /** Formats a time as hours and minutes. */
  readonly clock: (millis: number) => string
  /** Formats a time for a field of a form, which has no zone. */
  readonly fieldTime: (millis: number) => string
  /** Reads a time from a field of a form. Undefined if the text is no time. */
  readonly instant: (text: string) => number | undefined
  /** Formats the distance of a time from now, like `5 min. ago` or `in 5 min.`. */
  readonly ago: (millis: number, now: number) => string
  readonly duration: (millis: number) => string
}

const builtIn: Readonly<Record<string, Partial<Texts>>> = { en, de }

const placeholder = /\{(\w+)\}/

/** Converts a duration to a number and its unit. */
const inUnits = (millis: number): readonly [number, "millisecond" | "second" | "minute" | "hour" | "day"] => {
  const seconds = millis / 1_000
  if (millis < 1_000) return [Math.round(millis), "millisecond"]
  if (seconds < 10) return [Math.round(seconds * 10) / 10, "second"]
  if (seconds < 90) return [Math.round(seconds), "second"]
  if (seconds < 5_400) return [Math.round(seconds / 60), "minute"]
  if (seconds < 172_800) return [Math.round(seconds / 3_600), "hour"]
  return [Math.round(seconds / 86_400), "day"]
}

/** Whether a time zone is known here. */
export const isZone = (name: string): boolean =>
  Result.isSuccess(Result.try(() => new Intl.DateTimeFormat("en", { timeZone: name })))

/** Makes the conversions between instants and the local times of a zone. */
const zoneTimes = (zone: string): Pick<Language, "fieldTime" | "instant"> => {
  const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" })
  /** Difference of local time from UTC, in milliseconds. */
  const offsetAt = (millis: number): number => {
    const name = format.formatToParts(millis).find(({ type }) => type === "timeZoneName")?.value ?? ""
    const [, sign = "+", hours = "0", minutes = "0"] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? []
    return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  }
  return {
    fieldTime: (millis) => isoOf(millis + offsetAt(millis)).slice(0, 16),
    instant: (text) => {
      const local = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN
      if (Number.isNaN(local)) return undefined
      // The offset at the instant can differ from the one at the first guess, when clocks change that day.
      return local - offsetAt(local - offsetAt(local))
    }
  }
}

/** Maximum number of zones whose formats are kept for a language. */
const mostZones = 100

const makeLanguage = (lang: string, texts: Texts): Language => {
  const zones = new RecentMap<string, Language>(mostZones)
  const inZone = (zone: string): Language => {
    const known = zones.get(zone) ?? makeZonedLanguage(lang, texts, zone, inZone)
    zones.set(zone, known)
    return known
  }
  return inZone("UTC")
}

const makeZonedLanguage = (lang: string, texts: Texts, zone: string, inZone: Language["inZone"]): Language => {
  const numbers = new Intl.NumberFormat(lang)
  const plurals = new Intl.PluralRules(lang)
  const times = new Intl.DateTimeFormat(lang, {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
    second: "2-digit",
    timeZone: zone,
    timeZoneName: "short"
  })
  const percents = new Intl.NumberFormat(lang, { style: "percent", maximumFractionDigits: 1 })
  const days = new Intl.DateTimeFormat(lang, { day: "numeric", month: "short", timeZone: zone })
  const clocks = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: zone })
  const relative = new Intl.RelativeTimeFormat(lang, { numeric: "always", style: "short" })
  const t = (key: TextKey, values: Values = {}): string =>
    texts[key].replaceAll(new RegExp(placeholder, "g"), (whole, name: string) => String(values[name] ?? whole))
  const html: Language["html"] = (key, parts) => {
    const pieces = texts[key].split(placeholder)
    return Html.template`${pieces.map((piece, at) => Html.template`${at % 2 === 0 ? piece : (parts[piece] ?? null)}`)}`
  }
  const time = (millis: number): string => times.format(millis)
  const duration = (millis: number): string => {
    const [value, unit] = inUnits(millis)
    return new Intl.NumberFormat(lang, { style: "unit", unit, unitDisplay: "short" }).format(value)
  }
  const valueOf = (name: string, value: SentenceValue): Html.Part => {
    if (typeof value === "number") return String(value)
    if (typeof value === "string")
      return name === "detail" && value !== "" ? Html.template`<span lang="en">${value}</span>` : value
    return "time" in value
      ? Html.template`<time datetime="${isoOf(value.time)}" class="number">${time(value.time)}</time>`
      : duration(value.duration)
  }
  const sayOne = ({ key, values = {} }: PageSentence): Html.Html =>
    isTextKey(key)
      ? html(
          key,
          Record.map(values, (value, name) => valueOf(name, value))
        )
      : Html.nothing
  return {
    lang,
    t,
    html,
    say: (said) => Html.template`${said.map((one, at) => Html.template`${at === 0 ? "" : " "}${sayOne(one)}`)}`,
    count: (key, n) => t(plurals.select(n) === "one" ? `${key}_one` : `${key}_other`, { n: numbers.format(n) }),
    number: (n) => numbers.format(n),
    zone,
    inZone,
    time,
    // Rounded down, so that 100 % means that nothing failed.
    percent: (share) => percents.format(Math.floor(share * 1_000) / 1_000),
    day: (millis) => days.format(millis),
    clock: (millis) => clocks.format(millis),
    ...zoneTimes(zone),
    ago: (millis, now) => {
      const [value, unit] = inUnits(Math.abs(millis - now))
      if (unit === "millisecond") return t("now")
      return relative.format(millis < now ? -Math.round(value) : Math.round(value), unit)
    },
    duration
  }
}

export const english = makeLanguage("en", en)

const primary = (tag: string): string => tag.split("-", 1)[0]?.toLowerCase() ?? ""

/** Reads the language ranges of an `Accept-Language` header (RFC 9110 section 12.5.4), preferred ones first. */
const wantedIn = (header: string): ReadonlyArray<string> =>
  header
    .split(",", 20)
    .map((range) => {
      const [tag = "", q = "q=1"] = range.trim().split(/\s*;\s*/)
      return { tag: tag.toLowerCase(), weight: Number(/^q=([01](?:\.\d{1,3})?)$/.exec(q)?.[1] ?? 0) }
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag)

/** Makes the languages of a service. Returns a function that chooses the language for a request. */
export const makeLanguages = (host: TextsShape): ((x: Pick<Exchange, "header">) => Language) => {
  const names = [...new Set([...Object.keys(builtIn), ...Object.keys(host)])]
  const languages = names.map((name) =>
    makeLanguage(name, { ...en, ...builtIn[primary(name)], ...builtIn[name], ...host[name] })
  )
  const fallback = languages.find(({ lang }) => lang === "en") ?? english
  return (x) => {
    for (const tag of wantedIn(x.header("accept-language") ?? "")) {
      const found =
        languages.find(({ lang }) => lang.toLowerCase() === tag) ??
        languages.find(({ lang }) => primary(lang) === primary(tag))
      if (found !== undefined) return found
    }
    return fallback
  }
}
