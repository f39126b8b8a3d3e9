/**
 * Histories that failed, as files: to be replayed when the receiver has been corrected. They hold no ids; those are minted
 * when a history is executed.
 */
import { Schema } from "effect"
import { lanes } from "../history/History.ts"
import { Operation } from "../history/Operations.ts"
import { Confirmed } from "../record/Evidence.ts"

export const StoredCase = Schema.Struct({
  v: Schema.Literal(2),
  suite: Schema.String,
  seed: Schema.Int,
  /** The id of the requirement that it breaks. */
  violates: Schema.String,
  title: Schema.String,
  lane: Schema.Literals(lanes),
  /** With the conditions under which it failed as operations. */
  ops: Schema.Array(Operation),
  observed: Schema.String,
  /**
   * How often exactly these operations were executed by themselves, and failed. Null: they never were, or never failed
   * so; then that they pass says nothing, and a replay answers OPEN.
   */
  reproduced: Schema.NullOr(Confirmed)
})
export type StoredCase = typeof StoredCase.Type

/** What a replay says of a stored history. */
export const replayed = ["FAILS", "FIXED", "OPEN"] as const
export type Replayed = (typeof replayed)[number]

/** How often a history is tried before it counts as passing: so that a failure is missed one time in twenty. */
export const repeatsFor = ({ failed, tried }: Confirmed): number => {
  const share = tried === 0 ? 0 : failed / tried
  if (share >= 0.9) return 1
  return share === 0 ? 10 : Math.min(10, Math.ceil(Math.log(0.05) / Math.log(1 - share)))
}

/**
 * FIXED only if these operations failed by themselves once and do not now, as often as that takes. FAILS as soon as one
 * does. OPEN otherwise: the file stays.
 */
export const replayedOf = (
  { reproduced }: Pick<StoredCase, "reproduced">,
  passed: number,
  hasFailed: boolean
): Replayed =>
  hasFailed
    ? "FAILS"
    : reproduced !== null && reproduced.failed > 0 && passed >= repeatsFor(reproduced)
      ? "FIXED"
      : "OPEN"
