/**
 * Makes traces for tests: attempts from the receiver's answers, effects from the probe's counts.
 */
import type { Exchange } from "../../src/evidence/Exchange.ts"
import type { Attempt, Effects, SentEvent, Trace } from "../../src/evidence/Trace.ts"
import type { Operation } from "../../src/history/Operations.ts"

type Answered = Extract<Exchange, { readonly _tag: "Answered" }>

export const answered = (status: number, elapsed = 5): Answered => ({
  _tag: "Answered",
  status,
  retry_after: null,
  excerpt: "",
  headers_elapsed: elapsed,
  elapsed,
  ending: "complete",
  bytes: 0,
  location: null,
  detail: null,
  headers: {}
})

/** Makes an attempt of the first event that is answered with 200. `over` replaces defaults. */
export const attemptOf = (over: Partial<Attempt> = {}): Attempt => ({
  kind: "delivery",
  op: 0,
  event: 0,
  number: 1,
  first: true,
  raced: false,
  provisional: false,
  inFlight: 1,
  limit: null,
  webhook_id: "evt_1",
  endpoint: "http://127.0.0.1:1/hook",
  request: { method: "POST", headers: {}, body: "{}" },
  reused: false,
  leaked: null,
  started: 0,
  exchange: answered(200),
  ...over
})

const eventOf = (place: number): SentEvent => ({
  webhookId: `evt_${place + 1}`,
  resourceType: "access_log",
  dataId: String(100 + place),
  documented: true,
  digest: "sha256:0",
  bulk: false
})

export const counted = (last: number, most = last): Effects => ({ last, most, digest: null })

/** Makes a trace of these attempts and of the events that they refer to. */
export const traceOf = (
  attempts: ReadonlyArray<Attempt>,
  { ops = [], ...over }: Partial<Trace> & { readonly ops?: ReadonlyArray<Operation> } = {}
): Trace => ({
  history: { v: 1, ops },
  began: 0,
  ended: 1_000,
  events: Array.from({ length: Math.max(0, ...attempts.map(({ event }) => event + 1)) }, (_, place) => eventOf(place)),
  attempts,
  interventions: [],
  otherEvents: 0,
  shortfalls: [],
  effects: [],
  effectsElsewhere: [],
  sight: { byDataId: false, blindToUrls: false, foldsCase: false },
  ...over
})
