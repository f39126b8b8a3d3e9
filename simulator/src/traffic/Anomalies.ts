/**
 * What is out of the ordinary: pranks, faults, attacks. Each happening carries a label, so that whoever detects such
 * things knows what was really there.
 *
 * All rates are assumed: there are no public figures.
 */
import { between, chance, oneOf, poisson } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import { Rng as Generator, child } from "../random/Substream.ts"
import type { AccessPoint, Building, Person } from "../world/Building.ts"
import { elapsedAt } from "../world/LocalDay.ts"
import { hour, second } from "../world/LocalTime.ts"
import type { FlowDay } from "./FlowDay.ts"
import type { Access, AnomalyKind, Call, Happening } from "./Happening.ts"
import { anomalyKinds } from "./Happening.ts"
import { guid } from "./Visit.ts"

export interface AnomalyFlow {
  readonly _tag: "Anomalies"
  readonly name: "anomalies"
  /** How often each happens in thirty days, in a building. */
  readonly per_month: Readonly<Record<AnomalyKind, number>>
}

/** A happening before it has its number. */
type Draft =
  | Pick<Call, "_tag" | "time" | "unit" | "panel" | "tenant_ids" | "label" | "guid">
  | Pick<Access, "_tag" | "time" | "access_point" | "entry_method" | "release_status" | "name" | "tenant_ids" | "label">

interface Scene {
  readonly building: Building
  readonly rng: Rng
  readonly label: AnomalyKind
  /** When it begins, in milliseconds since the epoch. */
  readonly time: number
}

const doorsFromOutside = ({ access_points }: Building): ReadonlyArray<AccessPoint> =>
  access_points.filter(({ kind }) => kind !== "interior")

const calls = ({ building, rng, label, time }: Scene, count: number, gap: readonly [number, number], same: boolean) => {
  const panel = oneOf(rng, building.panels)
  const units = building.units.filter(({ use }) => use === panel?.use)
  const one = oneOf(rng, units)
  const drafts: Array<Draft> = []
  let at = time
  for (let ring = 0; ring < count; ring++) {
    const unit = same ? one : oneOf(rng, units)
    if (panel === undefined || unit === undefined) break
    drafts.push({ _tag: "Call", time: at, unit, panel, tenant_ids: unit.tenant_ids, label, guid: guid(rng) })
    at += Math.floor(between(rng, ...gap) * second)
  }
  return drafts
}

const strangers = { tenant_ids: [], name: "Unknown" } as const

const attempts = ({ building, rng, label, time }: Scene): ReadonlyArray<Draft> => {
  const access_point = oneOf(rng, doorsFromOutside(building))
  const drafts: Array<Draft> = []
  let at = time
  if (access_point === undefined) return drafts
  for (let left = 5 + rng.below(26); left > 0; left--) {
    drafts.push({
      _tag: "Access",
      time: at,
      access_point,
      entry_method: "pin",
      release_status: "Denied",
      label,
      ...strangers
    })
    at += Math.floor(between(rng, 3, 12) * second)
  }
  return drafts
}

const byPerson = (scene: Scene, person: Person, access_point: AccessPoint, after = 0): Draft => ({
  _tag: "Access",
  time: scene.time + after,
  access_point,
  entry_method: person.method,
  release_status: scene.label === "door_held" ? "Held open" : "Unlocked",
  name: person.name,
  tenant_ids: person.tenant_ids,
  label: scene.label
})

const withPerson = (
  scene: Scene,
  draft: (person: Person, doors: ReadonlyArray<AccessPoint>) => ReadonlyArray<Draft>
): ReadonlyArray<Draft> => {
  const person = oneOf(scene.rng, scene.building.people)
  return person === undefined ? [] : draft(person, doorsFromOutside(scene.building))
}

const forced = ({ building, rng, label, time }: Scene): ReadonlyArray<Draft> => {
  const access_point = oneOf(rng, doorsFromOutside(building))
  return access_point === undefined
    ? []
    : [{ _tag: "Access", time, access_point, entry_method: "none", release_status: "Forced", label, ...strangers }]
}

const drafts = (scene: Scene): ReadonlyArray<Draft> => {
  const { rng } = scene
  switch (scene.label) {
    case "buzzer_spam":
      return calls(scene, 6 + rng.below(10), [2, 9], false)
    case "stuck_button":
      return calls(scene, 10 + rng.below(31), [31, 36], true)
    case "pin_guessing":
      return attempts(scene)
    case "shared_credential":
      // The same credential at two doors, too soon for one person.
      return withPerson(scene, (person, doors) => {
        const other = oneOf(
          rng,
          doors.filter((door) => door !== person.entrance)
        )
        const gap = Math.floor(between(rng, 5, 40) * second)
        return other === undefined
          ? []
          : [byPerson(scene, person, person.entrance), byPerson(scene, person, other, gap)]
      })
    case "door_held":
    case "night_entry":
      return withPerson(scene, (person) => [byPerson(scene, person, person.entrance)])
    case "door_forced":
      return forced(scene)
  }
}

/** When it may begin, in hours of the clock: mostly by day, entries at night by night. */
const clockOf = (rng: Rng, kind: AnomalyKind): number =>
  kind === "night_entry" ? between(rng, 1, 4.5) : chance(rng, 0.25) ? between(rng, 20, 24) : between(rng, 7, 20)

/** The anomalies of one day, in order of time. */
export function* anomalyHappenings(context: FlowDay<AnomalyFlow>): IterableIterator<Happening> {
  const { building, day, flow, rateScale, substream } = context
  const all: Array<Draft> = []
  for (const label of anomalyKinds) {
    const mean = (flow.per_month[label] * rateScale) / 30
    if (mean === 0) continue
    const rng = new Generator(child(substream, label))
    for (let left = poisson(rng, mean); left > 0; left--) {
      const time = day.start + Math.floor(elapsedAt(day, Math.floor(clockOf(rng, label) * hour)))
      all.push(...drafts({ building, rng, label, time }))
    }
  }
  for (const draft of all.toSorted((a, b) => a.time - b.time)) {
    const common = {
      id: context.nextId(),
      flow: "anomalies",
      building_id: building.id,
      role: "other",
      cause: null
    } as const
    yield draft._tag === "Call" ? { ...draft, ...common, notification_type: "visitor" } : { ...draft, ...common }
  }
}
