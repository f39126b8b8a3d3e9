/**
 * What a `--receiver` names that the run does not have: an integration, or a time. Refused before anything runs, because a
 * receiver that is never met looks like one that has no effect.
 */
import { LocalClock } from "../receivers/LocalClock.ts"
import { isWithin } from "../receivers/Receiver.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import { rulesFor } from "../receivers/ReceiverText.ts"
import { counted } from "../results/Words.ts"
import type { PlannedIntegration } from "../run/World.ts"

/** All times in milliseconds since the epoch; the end is that of what may still be open after the plan. */
export interface RunBounds {
  readonly integrations: ReadonlyArray<PlannedIntegration>
  readonly beginning: number
  readonly end: number
}

/** Integrations that are named one by one. */
const mostNamed = 10
const minute = 60_000
const day = 24 * 60 * minute

const namesOf = (integrations: ReadonlyArray<PlannedIntegration>): string => {
  if (integrations.length === 0) return "the run has no integrations; --building-integrations gives it some"
  const named = integrations.slice(0, mostNamed).map(({ name, place }) => `${place} = ${name}`)
  const more = integrations.length - named.length
  return `there ${integrations.length === 1 ? "is" : "are"} ${counted(integrations.length, "integration")}: ${named.join("; ")}${more === 0 ? "" : `; and ${more} more`}`
}

/** Whether a run comes to a time of a rule, by the clocks of a zone. */
const isMet = ({ down, goneAfter }: ReceiverRule, zone: string, { beginning, end }: RunBounds): boolean => {
  if (goneAfter !== null) return beginning + goneAfter < end
  if (down === null) return true
  const clock = new LocalClock(zone)
  // A time of each day comes within two; a date, within three around it.
  const from = down.on === null ? beginning : Math.max(beginning, Date.parse(down.on) - day)
  const until = Math.min(end, down.on === null ? beginning + 2 * day : Date.parse(down.on) + 3 * day)
  for (let at = from; at < until; at += minute) if (isWithin(down, clock.at(at))) return true
  return false
}

/** What is wrong with the first rule that nothing in the run meets; null when all are met. */
export const unmetReceiver = (receivers: ReadonlyArray<ReceiverRule>, bounds: RunBounds): string | null => {
  for (const rule of receivers) {
    const own = bounds.integrations.filter(({ place }) => rulesFor([rule], place).length > 0)
    if (own.length === 0) return `--receiver ${rule.text}: it is no integration's; ${namesOf(bounds.integrations)}`
    if (own.some(({ zone }) => isMet(rule, zone, bounds))) continue
    const [from, to] = [bounds.beginning, bounds.end].map((at) => new Date(at).toISOString().slice(0, 16))
    return `--receiver ${rule.text}: the run does not come to that time: it goes from ${from} to ${to} UTC, what may be open after the plan included; expected a time within it, or another --start or --duration`
  }
  return null
}
