/** Anomalies: pranks, faults and attacks. Their occurrences are labelled, as ground truth for detectors. */
import { Schema } from "effect"
import { between, chance, oneOf, poisson } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { AccessPoint, Person } from "../world/Building.ts"
import { elapsedAt } from "../world/LocalDay.ts"
import { hour, second } from "../world/LocalTime.ts"
import type { FlowDay } from "./Flow.ts"
import { rngFor } from "./Flow.ts"
import type { Access, AnomalyKind, Call, Occurrence } from "./Occurrence.ts"
import { anomalyKinds } from "./Occurrence.ts"
import { guid } from "./Outsiders.ts"
import { parameter, Rate } from "./Parameter.ts"

export const AnomalyParameters = Schema.Struct({
  buzzer_spam: parameter(Rate, 0.5, "Somebody rings at many units within a minute or two"),
  stuck_button: parameter(Rate, 0.2, "A stuck call button calls one unit again and again"),
  pin_guessing: parameter(Rate, 0.3, "Somebody tries PINs at a door; all are denied"),
  shared_credential: parameter(Rate, 0.5, "A credential is used at two doors, faster than one person could get there"),
  door_held: parameter(Rate, 3, "A door is held open (release_status Held open)"),
  door_forced: parameter(Rate, 0.1, "A door is forced (entry_method none, release_status Forced)"),
  night_entry: parameter(Rate, 1, "Somebody comes in between 1:00 and 4:30 at night")
}).annotate({ description: "Number of anomalies per building and thirty days" })

export interface AnomalyFlow {
  readonly _tag: "Anomalies"
  readonly name: "anomalies"
  readonly per_month: Readonly<Record<AnomalyKind, number>>
}

/** How long a call rings that nobody answers, in milliseconds. */
const ring_out = 30 * second

type Draft = Omit<Call, "id"> | Omit<Access, "id">

/** Returns the occurrences of one anomaly. */
const occasion = (
  { building, day, roster }: FlowDay<AnomalyFlow>,
  rng: Rng,
  label: AnomalyKind,
  start: number
): ReadonlyArray<Draft> => {
  const common = { flow: "anomalies", building_id: building.id, role: "other", cause: null, label } as const
  const doors = building.access_points.filter(({ kind }) => kind !== "interior")
  const many = (count: number, gap: readonly [number, number], draft: (time: number) => Draft | null) => {
    let time = start
    return Array.from({ length: count }, () => {
      const made = draft(time)
      time += Math.floor(between(rng, ...gap) * second)
      return made ?? []
    }).flat()
  }
  const calls = (count: number, gap: readonly [number, number], isSame: boolean) => {
    const panel = oneOf(rng, building.panels)
    const units = building.units.filter(({ use }) => use === panel?.use)
    const one = oneOf(rng, units)
    return many(count, gap, (time) => {
      const unit = isSame ? one : oneOf(rng, units)
      if (panel === undefined || unit === undefined) return null
      const { tenant_ids } = unit
      const ring = { notification_type: "visitor", answered: null, ring_out } as const
      return { ...common, ...ring, _tag: "Call", time, unit, panel, tenant_ids, guid: guid(rng) }
    })
  }
  const byStranger = (time: number, access_point: AccessPoint, own: Pick<Access, "entry_method" | "release_status">) =>
    ({ ...common, ...own, _tag: "Access", time, access_point, tenant_ids: [], name: "Unknown" }) as const
  const byMember = (time: number, person: Person, access_point: AccessPoint) =>
    ({
      ...common,
      _tag: "Access",
      time,
      access_point,
      entry_method: person.method,
      release_status: label === "door_held" ? "Held open" : "Unlocked",
      name: person.name,
      tenant_ids: person.tenant_ids
    }) as const
  const door = oneOf(rng, doors)
  const person = roster.personOn(rng.below(Math.max(1, roster.size)), day.number)
  switch (label) {
    case "buzzer_spam":
      return calls(6 + rng.below(10), [2, 9], false)
    case "stuck_button":
      return calls(10 + rng.below(31), [31, 36], true)
    case "pin_guessing": {
      const denied = { entry_method: "pin", release_status: "Denied" } as const
      return door === undefined ? [] : many(5 + rng.below(26), [3, 12], (time) => byStranger(time, door, denied))
    }
    case "door_forced":
      return door === undefined ? [] : [byStranger(start, door, { entry_method: "none", release_status: "Forced" })]
    case "door_held":
    case "night_entry":
      return person === null ? [] : [byMember(start, person, person.entrance)]
    case "shared_credential": {
      const other = oneOf(
        rng,
        doors.filter((own) => own !== person?.entrance)
      )
      if (person === null || other === undefined) return []
      const gap = Math.floor(between(rng, 5, 40) * second)
      return [byMember(start, person, person.entrance), byMember(start + gap, person, other)]
    }
  }
}

/** Draws the time of day at which an anomaly begins, in hours: night entries at night, others mostly by day. */
const clockOf = (rng: Rng, kind: AnomalyKind): number =>
  kind === "night_entry" ? between(rng, 1, 4.5) : chance(rng, 0.25) ? between(rng, 20, 24) : between(rng, 7, 20)

/** Yields the anomalies of one day, in order of time. */
export function* anomalyOccurrences(context: FlowDay<AnomalyFlow>): IterableIterator<Occurrence> {
  const { day, flow, nextId, rateScale } = context
  const all: Array<Draft> = []
  for (const label of anomalyKinds) {
    const mean = (flow.per_month[label] * rateScale) / 30
    if (mean === 0) continue
    const rng = rngFor(context, label)
    for (let left = poisson(rng, mean); left > 0; left--) {
      const time = day.start + Math.floor(elapsedAt(day, Math.floor(clockOf(rng, label) * hour)))
      all.push(...occasion(context, rng, label, time))
    }
  }
  for (const draft of all.toSorted((a, b) => a.time - b.time)) yield { ...draft, id: nextId() }
}
