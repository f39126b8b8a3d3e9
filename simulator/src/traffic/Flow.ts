/**
 * A flow: one kind of people who use a building, with everything that says how they behave. Plain data.
 */
import type { AnomalyFlow } from "./Anomalies.ts"
import type { EmployeeFlow } from "./Employees.ts"
import type { OutsiderFlow } from "./Outsiders.ts"
import type { ResidentFlow } from "./Residents.ts"

/**
 * The flows there are. A flow's name is part of the name of its random numbers, and its place here part of its event
 * ids: new ones go to the end.
 */
export const flowNames = [
  "residents",
  "employees",
  "visitors",
  "guests",
  "parcels",
  "office_parcels",
  "food",
  "office_food",
  "trades",
  "anomalies"
] as const
export type FlowName = (typeof flowNames)[number]

export type Flow = ResidentFlow | EmployeeFlow | OutsiderFlow | AnomalyFlow

/** One number for each day of the week, Sunday first. */
export type ByWeekday = readonly [number, number, number, number, number, number, number]

export const ofWeekday = (values: ByWeekday, weekday: number): number => values[weekday] ?? 0

/** Whether people rest on a day. */
export const isWeekend = (weekday: number): boolean => weekday === 0 || weekday === 6
