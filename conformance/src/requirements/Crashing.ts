/**
 * Crashes amid traffic, at several moments: some events are acknowledged by then, some are being handled, some have
 * arrived in part. Those that are counted from the first acknowledgement come right after one, however long a receiver
 * takes for it.
 */
import { accessLog, call } from "../history/Events.ts"
import type { Case } from "../history/History.ts"
import { makeCase } from "../history/History.ts"

const crash = (after: number, workers: number, event = accessLog): Case =>
  makeCase(
    "operated",
    `killed ${after} ms into traffic of ${workers} workers, ${event.resource_type}`,
    { k: "kill_amid", event, workers, after },
    { k: "retry_open" }
  )

const crashWithCopies = makeCase(
  "operated",
  "killed 40 ms into traffic of 6 workers, each access_log twice at once",
  { k: "kill_amid", event: accessLog, workers: 6, after: 40, copies: 2 },
  { k: "retry_open" }
)

/** Milliseconds after an acknowledgement: what is written down behind it has hardly begun. */
const soon = 5

const crashOnAcknowledgement = makeCase(
  "operated",
  `killed ${soon} ms after the first acknowledgement of 6 workers' traffic, access_log`,
  { k: "kill_amid", event: accessLog, workers: 6, after: soon, from: "acknowledgement" },
  { k: "retry_open" }
)

const crashOnAcknowledgedCopy = makeCase(
  "operated",
  `killed ${soon} ms after the first acknowledgement of 4 workers' traffic, each call twice at once`,
  { k: "kill_amid", event: call, workers: 4, after: soon, from: "acknowledgement", copies: 2 },
  { k: "retry_open" }
)

export const crashCases: ReadonlyArray<Case> = [
  crashOnAcknowledgement,
  crash(40, 6),
  crash(5, 8),
  crash(15, 8, call),
  crash(90, 4),
  crashWithCopies,
  crashOnAcknowledgedCopy
]
