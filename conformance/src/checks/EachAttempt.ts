/**
 * Puts together what is found attempt by attempt: one that breaks the requirement breaks it for the trace, one that
 * leaves it open leaves it open, and where nothing could be judged nothing is said. What is wrong whenever it comes counts
 * before what came late, which may be an accident.
 */
import type { Attempt, Trace } from "../observed/Trace.ts"
import type { Finding } from "./Finding.ts"
import { nothing as empty, pass } from "./Finding.ts"

/** Judges one attempt: a finding against it, `good`, or null when it has nothing to do with the requirement. */
export type JudgeAttempt = (attempt: Attempt, index: number) => Finding | "good" | null

export const eachAttempt = (trace: Trace, nothing: string, judge: JudgeAttempt): Finding => {
  const good: Array<number> = []
  let late: Finding | null = null
  let open: Finding | null = null
  for (const [index, attempt] of trace.attempts.entries()) {
    const found = judge(attempt, index)
    if (found === null) continue
    if (found === "good") good.push(index)
    else if (found.verdict !== "FAIL") open ??= found
    else if (found.timing) late ??= found
    else return found
  }
  return late ?? open ?? (good.length === 0 ? empty(nothing) : pass(good))
}
