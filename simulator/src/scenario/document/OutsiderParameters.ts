/**
 * Visitors, couriers, guests and trades: the parameters of their flows, with what they mean and where they come from.
 */
import { Schema } from "effect"
import type { FullOutsiders } from "./OutsiderDefaults.ts"
import { outsiderDefaults } from "./OutsiderDefaults.ts"
import { assumed, parameter } from "./Parameter.ts"
import {
  DayShapeValue,
  GroupShare,
  Rate,
  SeasonValue,
  Share,
  ShortDuration,
  ShortLognormalValue,
  WeekOfNumbers,
  wholeBetween
} from "./Values.ts"

/** Where the numbers of a flow come from, where they are not assumed. */
interface Sources {
  readonly per: string
  readonly rate: string
  readonly times: string
  readonly seasons?: string
}

/** The schema of one flow of outsiders. */
const outsiderParameters = (usual: FullOutsiders, what: string, sources: Sources) =>
  Schema.Struct({
    rate: parameter(
      Rate,
      usual.rate,
      `Arrivals a day, per ${sources.per}, on a day whose weekday factor is 1`,
      sources.rate
    ),
    weekdays: parameter(
      WeekOfNumbers,
      usual.weekdays,
      "Factor of each day of the week; holidays are kept like Sundays"
    ),
    day_variation: parameter(
      Share,
      usual.day_variation,
      "Coefficient of variation of the day factor (gamma with mean 1): how much busier or quieter days of one kind are",
      "shape: Gamma-Poisson models of call centres (Brown, Zhao, Shen, Mandelbaum 2004); value assumed, 0.15 to 0.20"
    ),
    on_weekdays: parameter(
      DayShapeValue,
      usual.on_weekdays,
      "How arrivals spread over a weekday, by the clock on the wall",
      sources.times
    ),
    on_weekends: parameter(DayShapeValue, usual.on_weekends, "The same on weekends and holidays", sources.times),
    seasons: parameter(
      Schema.Array(SeasonValue).check(Schema.isMaxLength(24)),
      usual.seasons,
      "Parts of every year with so many times as many arrivals, both ends included",
      sources.seasons ?? assumed
    ),
    groups: parameter(
      GroupShare,
      usual.groups,
      "Probability that one more comes along (geometric group sizes); with a code each enters on their own, a second or two apart",
      "batches: lobby studies (Kuusinen et al. 2009, 2011); value assumed"
    ),
    code: parameter(Share, usual.code, "Share of arrivals that have a code and do not ring"),
    qr_share: parameter(Share, usual.qr_share, "Share of codes that are QR codes; the others are PINs"),
    main_entrance: parameter(
      Share,
      usual.main_entrance,
      "Share that goes to the main entrance; the others to any panel"
    ),
    answered: parameter(Share, usual.answered, "Probability that a call is answered"),
    answer: parameter(ShortLognormalValue, usual.answer, "From the ring to the answer; `median` is at most 1h"),
    ring_out: parameter(ShortDuration, usual.ring_out, "How long it rings before it gives up, at most 1h"),
    unlocked: parameter(Share, usual.unlocked, "Probability that an answered call ends with an open door"),
    unlock: parameter(
      ShortLognormalValue,
      usual.unlock,
      "From the answer to the open door, never more than 1h",
      "the pulse of a door opener is 3 to 7 s (installers' guide); rest assumed"
    ),
    repeated: parameter(
      Share,
      usual.repeated,
      "Probability that somebody who was not answered rings again within a minute"
    ),
    most_rings: parameter(wholeBetween(1, 10), usual.most_rings, "The most rings of one visit")
  }).annotate({ description: what })

const foodSource = "lunch 11 to 13 and evening 17 to 21 (couriers' guide); shape assumed"
const parcelWindow = "9 to 18 on weekdays (Christchurch study, Logistics 2024, 8(2):47); mode assumed"

/** The schemas of all flows of outsiders. */
export const outsiderFlows = {
  visitors: outsiderParameters(outsiderDefaults.visitors, "Visitors of homes", {
    per: "flat",
    rate: "three outside visitors a flat and week (Kivala survey, 1,103 people)",
    times: assumed
  }),
  parcels: outsiderParameters(outsiderDefaults.parcels, "Couriers with parcels for homes", {
    per: "dweller",
    rate: "33 parcels a person and year (property managers' figures, 2019)",
    times: parcelWindow,
    seasons: "150 parcels a week, 270 before the holidays (NMHC/Kingsley survey); dates assumed"
  }),
  food: outsiderParameters(outsiderDefaults.food, "Food delivered to homes", {
    per: "dweller",
    rate: assumed,
    times: foodSource
  }),
  guests: outsiderParameters(outsiderDefaults.guests, "Guests of companies", {
    per: "employee",
    rate: assumed,
    times: assumed
  }),
  office_parcels: outsiderParameters(outsiderDefaults.office_parcels, "Couriers with parcels for companies", {
    per: "employee",
    rate: assumed,
    times: parcelWindow,
    seasons: "as for homes"
  }),
  office_food: outsiderParameters(outsiderDefaults.office_food, "Food delivered to companies", {
    per: "employee",
    rate: assumed,
    times: foodSource
  }),
  trades: outsiderParameters(
    outsiderDefaults.trades,
    "Trades: cleaning, repairs, meters. In a house with homes per flat, else per three employees",
    {
      per: "flat",
      rate: assumed,
      times: assumed
    }
  )
} as const
