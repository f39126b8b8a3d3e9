/**
 * An attempt of an event, for what is judged or told by attempts alone.
 */
import type { Attempt } from "../../src/observed/Trace.ts"

/** The first attempt of an event, answered with 200 after so many milliseconds. */
export const answeredAfter = (elapsed: number, event = 0): Attempt => ({
  kind: "delivery",
  op: 0,
  event,
  number: 1,
  first: true,
  raced: false,
  provisional: false,
  webhook_id: "evt_1",
  endpoint: "http://127.0.0.1:9000/hook",
  request: { method: "POST", headers: {}, body: "{}", encoding: "utf8" },
  reused: false,
  started: 0,
  exchange: {
    _tag: "Answered",
    status: 200,
    retry_after: null,
    location: null,
    excerpt: "",
    headers_elapsed: elapsed,
    elapsed,
    ending: "complete",
    bytes: 0,
    detail: null,
    headers: {}
  }
})
