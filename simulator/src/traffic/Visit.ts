/**
 * One visit by somebody without a credential: a ring, an answer, an open door, or a few rings and nobody at home.
 */
import type { CallData } from "@doorhook/core"
import type { Lognormal } from "../random/Distribution.ts"
import { between, chance, lognormal, oneOf, weighted } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import type { Building, EntryMethod, Panel, Person, Use } from "../world/Building.ts"
import { hour, second } from "../world/LocalTime.ts"
import { fullName } from "../world/Names.ts"
import type { FlowName } from "./Flow.ts"
import type { FlowDay } from "./FlowDay.ts"
import type { Happening } from "./Happening.ts"

/** What becomes of a ring. */
interface RingBehaviour {
  readonly answered: number
  readonly answer_seconds: Lognormal
  /** How long it rings before it gives up. */
  readonly ring_out_seconds: number
  /** Share of answered calls that end with an open door. */
  readonly unlocked: number
  /** From the answer to the open door. */
  readonly unlock_seconds: Lognormal
  /** Probability that somebody who was not answered rings again, up to a number of rings. */
  readonly repeated: number
  readonly most_rings: number
}

export interface VisitBehaviour extends RingBehaviour {
  readonly name: FlowName
  /** Whom they come to see. */
  readonly use: Use
  readonly notification_type: CallData["notification_type"]
  /** Share of those who have a code and don't ring, the ways they use it, and in whose name it is. */
  readonly code: number
  readonly code_methods: ReadonlyArray<readonly [EntryMethod, share: number]>
  /** The name on the code; null is the visitor's own. */
  readonly code_name: string | null
  /** Probability that one more comes along (geometric group sizes). With a code each enters on their own. */
  readonly groups: number
  /** Share that comes to the main entrance; the others to any. */
  readonly main_entrance: number
}

/** Nobody waits longer at a door, in milliseconds: so a visit ends on its day, or the next. */
export const longestWait = hour

/** From a ring to its answer, and from the answer to the open door, in seconds. */
export const answerAfter = (rng: Rng, { answer_seconds, ring_out_seconds }: RingBehaviour): number =>
  Math.min(lognormal(rng, answer_seconds), ring_out_seconds)
export const unlockAfter = (rng: Rng, { unlock_seconds }: RingBehaviour): number =>
  Math.min(lognormal(rng, unlock_seconds), longestWait / second)

/** Somebody tries again within a minute. */
const secondsToRepeat = [5, 60] as const

const hex = (word: number): string => word.toString(16).padStart(8, "0")

/** A UUID of version 4 (RFC 9562). */
export const guid = (rng: Rng): string => {
  const [a, b, c, d] = [hex(rng.uint32()), hex(rng.uint32()), hex(rng.uint32()), hex(rng.uint32())]
  const variant = "89ab"[rng.below(4)] ?? "8"
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-${variant}${c.slice(1, 4)}-${c.slice(4)}${d}`
}

/** Where visits of one flow can go. */
export interface Destinations {
  readonly hosts: ReadonlyArray<Person>
  readonly panels: ReadonlyArray<Panel>
}

export const destinationsIn = (building: Building, use: Use): Destinations => ({
  hosts: building.people.filter(({ unit }) => unit.use === use),
  panels: building.panels.filter((panel) => panel.use === use)
})

/** The happenings of a visit that begins at a time, in order of time. */
export const visit = (
  { flow, building, nextId }: FlowDay<VisitBehaviour>,
  { hosts, panels }: Destinations,
  rng: Rng,
  start: number
): ReadonlyArray<Happening> => {
  // By person, not by unit: larger households and companies have more visitors.
  const host = oneOf(rng, hosts)
  const panel = chance(rng, flow.main_entrance) ? panels[0] : oneOf(rng, panels)
  if (host === undefined || panel === undefined) return []
  const common = {
    flow: flow.name,
    building_id: building.id,
    tenant_ids: host.unit.tenant_ids,
    label: null,
    release_status: "Unlocked"
  } as const
  const { access_point } = panel
  if (chance(rng, flow.code)) {
    const entry_method = weighted(rng, flow.code_methods, "pin")
    const name = flow.code_name ?? fullName(rng)
    const entered: Array<Happening> = []
    let time = start
    do {
      const role = entered.length === 0 ? "arrival leader" : "arrival follower"
      entered.push({
        _tag: "Access",
        time,
        id: nextId(),
        ...common,
        role,
        cause: null,
        access_point,
        entry_method,
        name
      })
      time += Math.floor(between(rng, 1, 2.2) * second)
    } while (chance(rng, flow.groups))
    return entered
  }
  const happenings: Array<Happening> = []
  let first: number | null = null
  let time = start
  for (let ring = 1; ring <= flow.most_rings; ring++) {
    const { notification_type } = flow
    const id = nextId()
    happenings.push({
      _tag: "Call",
      time,
      id,
      flow: flow.name,
      building_id: building.id,
      tenant_ids: host.unit.tenant_ids,
      role: ring === 1 ? "arrival leader" : "other",
      label: null,
      cause: first,
      guid: guid(rng),
      notification_type,
      unit: host.unit,
      panel
    })
    first ??= id
    const answer = answerAfter(rng, flow)
    if (chance(rng, flow.answered)) {
      const unlocked = time + Math.floor((answer + unlockAfter(rng, flow)) * second)
      if (chance(rng, flow.unlocked)) {
        happenings.push({
          _tag: "Access",
          time: unlocked,
          id: nextId(),
          ...common,
          role: "other",
          cause: id,
          access_point,
          entry_method: "app",
          name: host.name
        })
      }
      break
    }
    if (!chance(rng, flow.repeated)) break
    time += Math.floor((flow.ring_out_seconds + between(rng, ...secondsToRepeat)) * second)
  }
  return happenings
}
