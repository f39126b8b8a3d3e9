/**
 * Events around a crash.
 */
import type { Trace } from "../observed/Trace.ts"
import { eachEvent } from "./EachEvent.ts"
import type { Finding } from "./Finding.ts"
import { both } from "./Finding.ts"
import { lastAttemptAcknowledged } from "./Retried.ts"
import { read } from "./Reading.ts"
import type { Story } from "./Story.ts"
import type { Terms } from "./Terms.ts"

const before = ({ attempts }: Story) => attempts.filter(([, { kind }]) => kind === "amid")

const wasAcknowledged = (story: Story, terms: Terms): boolean =>
  before(story).some(([, { exchange }]) => read(exchange, terms) === "acknowledged")

/** What was acknowledged before the crash has its one effect after it. */
export const acknowledgedSurvives = (trace: Trace, terms: Terms): Finding =>
  eachEvent(trace, terms, "nothing was acknowledged before the crash", (story) => {
    if (story.last === null || !wasAcknowledged(story, terms)) return null
    return story.last === 1 && story.most === 1 ? true : "acknowledged before the crash"
  })

/** What was on its way when the receiver died is acknowledged at the retry and has one effect. */
export const retriedAfterCrash = (trace: Trace, terms: Terms): Finding =>
  both(
    eachEvent(trace, terms, "nothing was on its way when the receiver died", (story) => {
      if (story.last === null || story.most === null || before(story).length === 0) return null
      if (wasAcknowledged(story, terms)) return null
      if (story.state !== "acknowledged") return story.most > 1 ? "on its way when the receiver died" : null
      return story.last === 1 && story.most === 1 ? true : "on its way when the receiver died, and sent again"
    }),
    lastAttemptAcknowledged(trace, terms)
  )
