/**
 * The flows of people that a checked document describes: defaults filled in, texts turned into numbers.
 */
import type { AnomalyFlow } from "../../traffic/Anomalies.ts"
import type { EmployeeFlow } from "../../traffic/Employees.ts"
import type { Flow } from "../../traffic/Flow.ts"
import type { OutsiderFlow } from "../../traffic/Outsiders.ts"
import type { ResidentFlow } from "../../traffic/Residents.ts"
import type { Building, Use } from "../../world/Building.ts"
import { minute, second } from "../../world/LocalTime.ts"
import { credentialShare } from "../../world/ResidentialBuilding.ts"
import { anomalyDefaults } from "./BuildingParameters.ts"
import { employeeDefaults, residentDefaults, turnstileTailgating } from "./MemberParameters.ts"
import { outsiderDefaults } from "./OutsiderDefaults.ts"
import type { FullOutsiders } from "./OutsiderDefaults.ts"
import type { BuildingDocument } from "./ScenarioDocument.ts"
import { byWeekday, clockTimeOf, lognormalOf, millisOf, seasonOf, shapeOf } from "./Values.ts"

type FlowDocuments = NonNullable<BuildingDocument["flows"]>
type OutsiderName = keyof typeof outsiderDefaults

const residentsOf = (given: FlowDocuments["residents"] = {}): ResidentFlow => {
  const usual = residentDefaults
  const all = { ...usual, ...given }
  return {
    _tag: "Residents",
    name: "residents",
    active: all.active,
    day_variation: all.day_variation,
    goes_to_work: byWeekday({ ...usual.goes_to_work, ...given.goes_to_work }),
    leaves: clockTimeOf({ ...usual.leaves, ...given.leaves }),
    returns: clockTimeOf({ ...usual.returns, ...given.returns }),
    errands: byWeekday({ ...usual.errands, ...given.errands }),
    errand_times: shapeOf(all.errand_times),
    errand_minutes: lognormalOf({ ...usual.errand_duration, ...given.errand_duration }, minute),
    evenings: byWeekday({ ...usual.evenings, ...given.evenings }),
    evening_leaves: clockTimeOf({ ...usual.evening_leaves, ...given.evening_leaves }),
    evening_returns: clockTimeOf({ ...usual.evening_returns, ...given.evening_returns }),
    room_uses: all.room_uses,
    room_times: shapeOf(all.room_times),
    tailgating: all.tailgating,
    denied: { ...usual.denied, ...given.denied },
    other_method: all.other_method
  }
}

const employeesOf = (turnstiles: boolean, given: FlowDocuments["employees"] = {}): EmployeeFlow => {
  const usual = employeeDefaults
  const all = { ...usual, ...given }
  const lunch = { ...usual.lunch, ...given.lunch }
  return {
    _tag: "Employees",
    name: "employees",
    attendance: byWeekday({ ...usual.attendance, ...given.attendance }),
    day_variation: all.day_variation,
    arrives: clockTimeOf({ ...usual.arrives, ...given.arrives }),
    leaves: clockTimeOf({ ...usual.leaves, ...given.leaves }),
    arrival_groups: all.arrival_groups,
    lunch: {
      ...clockTimeOf(lunch),
      share: lunch.share,
      minutes: lognormalOf({ ...usual.lunch.duration, ...given.lunch?.duration }, minute),
      groups: lunch.groups
    },
    floor_uses: all.floor_uses,
    tailgating: given.tailgating ?? (turnstiles ? turnstileTailgating.with : turnstileTailgating.without),
    exits_logged: turnstiles,
    denied: { ...usual.denied, ...given.denied },
    other_method: all.other_method
  }
}

/** What is fixed for a flow: whom they come to see, and what they are arrivals per. */
interface OutsiderKind {
  readonly use: Use
  readonly notification_type: OutsiderFlow["notification_type"]
  readonly code_name: string | null
  readonly per: "flat" | "dweller" | "employee"
}

type SizedName = Exclude<OutsiderName, "trades">

const kinds: Readonly<Record<SizedName, OutsiderKind>> = {
  visitors: { use: "home", notification_type: "visitor", code_name: null, per: "flat" },
  parcels: { use: "home", notification_type: "delivery", code_name: "Courier", per: "dweller" },
  food: { use: "home", notification_type: "delivery", code_name: "Courier", per: "dweller" },
  guests: { use: "company", notification_type: "visitor", code_name: null, per: "employee" },
  office_parcels: { use: "company", notification_type: "delivery", code_name: "Courier", per: "employee" },
  office_food: { use: "company", notification_type: "delivery", code_name: null, per: "employee" }
}

/** How many there are of what a rate is per. */
const sizeOf = (building: Building, per: OutsiderKind["per"]): number => {
  if (per === "flat") return building.units.filter(({ use }) => use === "home").length
  const people = building.people.filter(({ unit }) => unit.use === (per === "dweller" ? "home" : "company")).length
  return per === "dweller" ? people / credentialShare : people
}

/** How many there are in a building of what the rate of a flow is per. */
export const ratedBy = (building: Building, name: SizedName): number => sizeOf(building, kinds[name].per)

const outsidersOf = (
  name: OutsiderName,
  { use, notification_type, code_name }: Omit<OutsiderKind, "per">,
  size: number,
  given: Partial<FullOutsiders> | FlowDocuments[OutsiderName] = {}
): OutsiderFlow => {
  const usual: FullOutsiders = outsiderDefaults[name]
  const all = { ...usual, ...given }
  return {
    _tag: "Outsiders",
    name,
    use,
    notification_type,
    per_day: all.rate * size,
    weekdays: byWeekday({ ...usual.weekdays, ...given.weekdays }),
    day_variation: all.day_variation,
    on_weekdays: shapeOf(all.on_weekdays),
    on_weekends: shapeOf(all.on_weekends),
    seasons: all.seasons.map(seasonOf),
    groups: all.groups,
    code: all.code,
    code_methods: [["qr_code", all.qr_share]],
    code_name,
    main_entrance: all.main_entrance,
    answered: all.answered,
    answer_seconds: lognormalOf({ ...usual.answer, ...given.answer }, second),
    ring_out_seconds: millisOf(all.ring_out) / second,
    unlocked: all.unlocked,
    unlock_seconds: lognormalOf({ ...usual.unlock, ...given.unlock }, second),
    repeated: all.repeated,
    most_rings: all.most_rings
  }
}

const anomaliesOf = (given: BuildingDocument["anomalies"]): AnomalyFlow => ({
  _tag: "Anomalies",
  name: "anomalies",
  per_month: { ...anomalyDefaults, ...given }
})

/** All flows of a building. */
export const flowsOf = (document: BuildingDocument, building: Building): ReadonlyArray<Flow> => {
  const { homes, offices, flows = {} } = document
  const names: ReadonlyArray<SizedName> = ["visitors", "parcels", "food", "guests", "office_parcels", "office_food"]
  const has: Readonly<Record<Use, boolean>> = { home: homes !== undefined, company: offices !== undefined }
  const trades = homes === undefined ? { use: "company" as const, size: sizeOf(building, "employee") / 3 } : null
  return [
    ...(has.home ? [residentsOf(flows.residents)] : []),
    ...(has.company ? [employeesOf(offices?.turnstiles ?? true, flows.employees)] : []),
    ...names.flatMap((name) => {
      const kind = kinds[name]
      return has[kind.use] ? [outsidersOf(name, kind, ratedBy(building, name), flows[name])] : []
    }),
    outsidersOf(
      "trades",
      { use: trades?.use ?? "home", notification_type: "visitor", code_name: null },
      trades?.size ?? sizeOf(building, "flat"),
      flows.trades
    ),
    anomaliesOf(document.anomalies)
  ]
}
