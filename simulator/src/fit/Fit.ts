/** Fits a scenario to an access log. Parameters that can't be estimated keep their usual values. */
import { Record, Result, Schema } from "effect"
import { decodeScenario, resolve } from "../scenario/Resolve.ts"
import type { Scenario } from "../scenario/Scenario.ts"
import type { ScenarioDocument } from "../scenario/ScenarioDocument.ts"
import { mostCompanies, mostFlats } from "../scenario/ScenarioDocument.ts"
import { AnomalyParameters } from "../traffic/Anomalies.ts"
import { ratedBy } from "../traffic/Outsiders.ts"
import { weekdayOf } from "../world/CalendarDate.ts"
import type { AccessLog } from "./AccessLog.ts"
import type { CallGroup } from "./CallFit.ts"
import { callGroup, outsiderFit } from "./CallFit.ts"
import { mean, quantile } from "./Estimates.ts"
import type { FittedResidents } from "./HomeFit.ts"
import { homeFit } from "./HomeFit.ts"
import type { Members } from "./Members.ts"
import { membersOf, presence } from "./Members.ts"
import { officeFit } from "./OfficeFit.ts"

export type Kind = "homes" | "offices"

export interface FitOptions {
  readonly name: string
  /** Kind of building; null to decide by the weekend traffic. */
  readonly kind: Kind | null
}

/** The log shows too little, or the estimates don't form a valid scenario. */
export class CannotFit extends Schema.TaggedError<CannotFit>()("CannotFit", { message: Schema.String }) {}

export interface Fitted {
  /** The scenario as written in a file. */
  readonly document: typeof ScenarioDocument.Encoded
  readonly scenario: Scenario
  readonly kind: Kind
  /** Numbers of days, people and calls behind the estimates. */
  readonly days: number
  readonly people: number
  readonly calls: number
  /** Sentences for the user about parts of the log that the scenario doesn't cover. */
  readonly notes: ReadonlyArray<string>
}

/** Minimum numbers of days and people needed to estimate weekdays and habits. */
const fewestDays = 7
const fewestPeople = 5

/** Decides between offices and homes by the weekend traffic: offices are nearly empty on weekends. */
const kindOf = (members: Members): Kind => {
  const counts = [...presence(members)]
  const [rest, work] = [true, false].map((isRest) =>
    mean(counts.filter(([day]) => (weekdayOf(day) % 6 === 0) === isRest).map(([, count]) => count))
  )
  return (rest ?? 0) < 0.3 * (work ?? 0) ? "offices" : "homes"
}

/**
 * If traffic on the first day begins this many hours later than usual, or on the last day ends this many hours earlier,
 * the log covers only part of that day.
 */
const partOfDay = 6

/** Removes the first or last day if the log covers only part of it, because such a day would show too few people. */
const wholeDays = (log: AccessLog): AccessLog => {
  const { entries } = log
  const [first, last] = [entries[0], entries.at(-1)]
  if (first === undefined || last === undefined || last.day - first.day < fewestDays) return log
  const days = [...Map.groupBy(entries, ({ day }) => day).values()]
  const usual = (at: 0 | -1) =>
    quantile(
      days.map((own) => own.at(at)?.clock ?? 0),
      0.5
    )
  const from = first.clock > usual(0) + partOfDay ? first.day + 1 : first.day
  const to = last.clock < usual(-1) - partOfDay ? last.day - 1 : last.day
  return { ...log, entries: entries.filter(({ day }) => day >= from && day <= to) }
}

/** Estimates a scenario of one building. */
export const fit = (whole: AccessLog, { kind: given, name }: FitOptions): Result.Result<Fitted, CannotFit> => {
  const log = wholeDays(whole)
  const members = membersOf(log)
  const days = members.calendar.length
  const refuse = (message: string) => Result.fail(new CannotFit({ message }))
  if (days < fewestDays) return refuse(`the log covers ${days} days; at least ${fewestDays} are needed, 28 are better`)
  if (!log.has.has("person"))
    return refuse("the log has no column for the person; name it with --columns person=HEADING")
  if (members.people.length < fewestPeople) {
    return refuse(`the log shows ${members.people.length} members; at least ${fewestPeople} are needed`)
  }
  const kind = given ?? kindOf(members)
  // In homes, only calls name flats reliably: the unit in a member's entry can be a personal number.
  const named = log.entries.filter(({ isCall, unit }) => unit !== "" && (kind === "offices" || isCall))
  const units = new Set(named.map(({ unit }) => unit)).size
  const deliveries = callGroup(
    log,
    ({ isDelivery }) => isDelivery,
    members.codes.filter(({ isDelivery }) => isDelivery)
  )
  const visitors = callGroup(
    log,
    ({ isDelivery }) => !isDelivery,
    members.codes.filter(({ isDelivery }) => !isDelivery)
  )
  // Adds no anomalies, because the estimates already include the anomalies in the log.
  const anomalies = Record.map(AnomalyParameters.fields, () => 0)
  type Parts = Omit<(typeof ScenarioDocument.Encoded)["buildings"][number], "name" | "time_zone" | "anomalies">
  const made = (parts: Parts) => {
    const building = { name, time_zone: log.zone, ...parts, anomalies }
    const document = { name, description: `Fitted to ${days} days of an access log`, buildings: [building] }
    return Result.mapBoth(decodeScenario(document), {
      onFailure: ({ message }) => new CannotFit({ message: `the estimates give no valid scenario: ${message}` }),
      onSuccess: (decoded) => ({ document, scenario: resolve(decoded) })
    })
  }
  const finish = (parts: Parts, notes: ReadonlyArray<string>): Result.Result<Fitted, CannotFit> =>
    Result.map(made(parts), ({ document, scenario }) => ({
      document,
      scenario,
      notes,
      kind,
      days,
      people: members.people.length,
      calls: deliveries.calls + visitors.calls
    }))
  if (kind === "offices") {
    const count = members.people.length
    const { employees, turnstiles } = officeFit(members, count)
    const parts = {
      offices: {
        employees: count,
        cleaners: 0,
        guards: 0,
        companies: Math.max(1, Math.min(mostCompanies, units, count)),
        turnstiles,
        entry_methods: members.methods
      },
      flows: {
        employees,
        guests: outsiderFit(visitors, members.calendar, count),
        office_parcels: outsiderFit(deliveries, members.calendar, count),
        office_food: { rate: 0 },
        trades: { rate: 0 }
      }
    }
    return finish(parts, [])
  }
  const isUnitKnown = units > members.people.length * 0.3 && units <= members.people.length * 1.2
  const shown = isUnitKnown ? units : Math.max(1, Math.round(members.people.length / 1.9))
  const flats = Math.min(mostFlats, shown)
  const homes = { flats, entry_methods: members.methods }
  return Result.flatMap(made({ homes }), ({ scenario }) => {
    const [house] = scenario.buildings
    // Rates are per flat or dweller of the resulting building, whose household sizes are drawn at random.
    const rateFit = (name: "visitors" | "parcels", group: CallGroup) =>
      outsiderFit(
        group,
        members.calendar,
        house === undefined ? 1 : ratedBy(house.building, name === "visitors" ? "flat" : "dweller")
      )
    const parts = (residents: FittedResidents) => ({
      homes,
      flows: {
        residents,
        visitors: rateFit("visitors", visitors),
        parcels: rateFit("parcels", deliveries),
        food: { rate: 0 },
        trades: { rate: 0 }
      }
    })
    const residents = homeFit(members, (own) => {
      const tried = made(parts(own))
      return Result.isSuccess(tried) ? tried.success.scenario : null
    })
    return finish(
      parts(residents),
      shown > flats
        ? [`the log shows about ${shown} flats; the scenario has ${mostFlats}, the most a building can have`]
        : []
    )
  })
}
