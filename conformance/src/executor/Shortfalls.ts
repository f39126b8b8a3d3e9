/**
 * What of the cases of a requirement was not done in full, in words: a PASS rests on less then.
 */
import type { Shortfall, Trace } from "../observed/Trace.ts"

const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 10) / 100} s`

const inWords = ({ done, of, what }: Shortfall): string => {
  switch (what) {
    case "events":
      return `${done} of ${of} events`
    case "wait":
      return `${seconds(done)} of ${seconds(of)} waited`
    case "load":
      return `${seconds(done)} of ${seconds(of)} of load`
    case "connections":
      return `${of - done} of ${of} events late for want of a free connection of the suite's own`
    case "steps":
      return `given up after ${done} of ${of} steps, for answers that did not come`
  }
}

/** One line for each case that was cut short, by its title. */
export const shortfallsOf = (
  cases: ReadonlyArray<{ readonly title: string; readonly trace: Trace }>
): ReadonlyArray<string> =>
  cases.flatMap(({ title, trace }) =>
    trace.shortfalls.length === 0 ? [] : [`${title}: ${trace.shortfalls.map(inWords).join(", ")}`]
  )
