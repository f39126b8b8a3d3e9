/**
 * What the suite says of its flags, in the words of a test: it has options, and what `start` gives.
 */
import { howToGive, needs } from "../requirements/Profile.ts"
import type { Need } from "../requirements/Profile.ts"

const givenByTest: Readonly<Record<Need, string>> = {
  effects: "`probe` in what start gives shows how often an event's effect happened",
  digest: "`digest` in what the probe gives shows what was stored",
  stop: "`restart` or `kill` in what start gives lets the suite end the receiver",
  kill: "`kill` in what start gives lets the suite kill the receiver at once; a restart may end it gently",
  pause: "`pause` with `resume` in what start gives lets the suite hold the receiver still",
  advance: "`advance` in what start gives lets the suite move the receiver's clock",
  endpoints: "`otherUrls` shows whether tenants are kept apart",
  secret: "`secret` lets the suite sign what it sends",
  rate: "`peakRate` says what load the receiver is made for"
}

/** What was observed, with the options of a test in place of flags. */
export const inTestWords = (observed: string): string =>
  needs
    .reduce((said, need) => said.replaceAll(howToGive[need], givenByTest[need]), observed)
    .replaceAll("(--max-time)", "(maxTime)")
