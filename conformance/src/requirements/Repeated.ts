/**
 * Events that come again, in the ways duplicates come about. Judged by what is answered (level 1) and by what was done
 * (level 2).
 */
import { accessLog, call } from "../history/Events.ts"
import type { Case, Operation } from "../history/History.ts"
import { again, makeCase, newEvent, raceAgain, raceNew, retry } from "../history/History.ts"

const overNew = again(0, [...retry, "new_connection"])

export const repeatedCases: ReadonlyArray<Case> = [
  makeCase("state", "the same request twice", newEvent(accessLog), again(0, [])),
  makeCase("state", "two retries", newEvent(accessLog), again(0, retry), again(0, retry)),
  makeCase("state", "a retry over a new connection", newEvent(call), again(0, [...retry, "new_connection"])),
  makeCase(
    "state",
    "eight retries, each over a new connection",
    newEvent(accessLog),
    ...Array.from({ length: 8 }, () => overNew)
  ),
  makeCase("state", "a retry with other whitespace", newEvent(accessLog), again(0, [...retry, "reencoded"])),
  makeCase(
    "state",
    "retries after other events",
    newEvent(accessLog),
    newEvent(call),
    newEvent(accessLog),
    again(0, retry),
    again(1, retry)
  ),
  makeCase(
    "state",
    "a retry between two others",
    newEvent(accessLog),
    newEvent(accessLog),
    again(0, retry),
    again(1, retry),
    again(0, retry)
  ),
  makeCase(
    "state",
    "the tenth attempt of an event",
    newEvent(call),
    ...Array.from({ length: 9 }, (): Operation => again(0, retry))
  ),
  makeCase("state", "several retries at once", newEvent(accessLog), raceAgain(0, 3)),
  makeCase("state", "a retry after several first attempts at once", raceNew(accessLog, 3), again(0, retry)),
  makeCase("state", "a retry a good second later", newEvent(accessLog), { k: "idle", ms: 1_500 }, again(0, retry))
]
