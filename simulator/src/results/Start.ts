/**
 * Where the axis of time begins.
 */
import { Option } from "effect"
import type { RunReport } from "./RunReport.ts"
import { dayMillis, parse } from "../world/LocalTime.ts"

/** Milliseconds from midnight to the beginning, by the clocks of the buildings. */
export const offsetOf = ({ start }: Pick<RunReport, "start">): number =>
  Option.match(parse(start), { onNone: () => 0, onSome: (time) => time % dayMillis })

/** The beginning's date, as the number of its day. */
export const firstDayOf = ({ start }: Pick<RunReport, "start">): number =>
  Option.match(parse(start), { onNone: () => 0, onSome: (time) => Math.floor(time / dayMillis) })
