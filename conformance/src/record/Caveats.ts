/**
 * What a pass rests on and no run can prove: how far the probe counts, how long the memory of ids lasts.
 */
import { storiesOf } from "../judgement/Judge.ts"
import type { Evidence } from "./Evidence.ts"

/** Whether the probe was seen to count past one: when asked to double, or of a double effect. */
export const countsPastOne = ({ calibration, runs }: Pick<Evidence, "runs" | "calibration">): boolean =>
  calibration?.double?.observed === 2 ||
  runs.some(({ trace }) => trace.effects.some((effects) => (effects?.most ?? 0) > 1))

interface Memory {
  readonly seconds: number
  readonly ids: number
}

/** Over how long, and over how many other events, an event was seen to be known again; null where none came again. */
export const memoryOf = ({ runs, terms }: Pick<Evidence, "runs" | "terms">): Memory | null => {
  const known = { seconds: -1, ids: 0 }
  for (const { lane, settled, trace } of runs) {
    // Elsewhere an event comes again at once.
    if (!settled || (lane !== "aged" && lane !== "last")) continue
    const hasWaited = trace.history.ops.some(({ k }) => k === "age")
    // Of several places of one event, a map keeps the last that it is given: the first attempt.
    const beginnings = new Map(trace.attempts.map(({ event }, index) => [event, index] as const).toReversed())
    const placesOfNew = [...beginnings.values()]
    for (const { attempts, last, most, shared, state } of storiesOf(trace, terms)) {
      const [first, again] = [attempts[0], attempts.at(-1)]
      if (first === undefined || again === undefined || first === again) continue
      if (state !== "acknowledged" || last !== shared || most !== shared) continue
      const between = placesOfNew.filter((place) => place > first[0] && place < again[0]).length
      known.seconds = Math.max(known.seconds, Math.floor((again[1].started - first[1].started) / 1_000))
      known.ids = Math.max(known.ids, between + (hasWaited ? trace.otherEvents : 0))
    }
  }
  return known.seconds < 0 ? null : known
}

/** How far a memory of ids was seen to reach, in words. */
export const memoryInWords = ({ ids, seconds }: Memory): string =>
  `memory was seen to last over ${seconds} s and ${ids.toLocaleString("en-US")} ids`
