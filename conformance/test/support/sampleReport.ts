/**
 * A report with a requirement of every verdict, and with the most hostile text that a receiver can send.
 */
import type { Verdict } from "../../src/judgement/Verdict.ts"
import { folded } from "../../src/report/MakeReport.ts"
import type { Report, ReportedAttempt, ReportedRequirement } from "../../src/report/Report.ts"

export const signature = "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="
export const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
const hostile = `<script>alert(1)</script>"'&]]> \u001b[31mred \u202eevil ${secret} | a\`b\` @team`

const attempt = (over: Partial<ReportedAttempt>): ReportedAttempt => ({
  number: 1,
  got: "200 after 3 ms",
  webhookId: "evt_01JD3X8V6N",
  startedMs: 0.4,
  connection: "new",
  status: 200,
  elapsedMs: 3.4,
  excerpt: "ok",
  request: {
    method: "POST",
    url: "http://127.0.0.1:9000/hook?key=hush",
    headers: {
      "content-type": "application/json",
      "webhook-id": "evt_01JD3X8V6N",
      "webhook-signature": signature,
      authorization: "Bearer hush"
    },
    body: '{"event":{"resource_type":"call","action":"create","data":{"id":7,"name":"Zoë 🔑"}}}',
    bodyBytes: 88
  },
  ...over
})

const requirement = (id: string, verdict: Verdict, over: Partial<ReportedRequirement> = {}): ReportedRequirement => ({
  id,
  level: 1,
  profile: null,
  strength: "MUST",
  verdict,
  statement: "Every further attempt of an event is acknowledged like the first.",
  source: "interface document, section 6, rules 3 and 4",
  because: "A duplicate comes when an acknowledgement was lost.",
  expected: "every repeated attempt is answered with status 200 within 5s",
  observed: verdict === "PASS" ? "12 attempts" : "sent again (attempt 2): 409 after 3 ms",
  history: [],
  case: null,
  durationMs: 40,
  effects: [],
  confirmed: null,
  cases: { directed: 7, directedDone: 7, randomDone: 6 },
  cutShort: [],
  stored: null,
  under: null,
  known: false,
  fails: verdict === "FAIL" && over.known !== true,
  decidedBy: null,
  curl: null,
  replay: `npx doorhook conformance run --url http://127.0.0.1:9000/hook --only ${id} --seed 7`,
  ...over
})

const event = {
  resource_type: "call",
  action: "create",
  data: [],
  beside_data: [],
  beside_event: [],
  note: ""
} as const

const failed = requirement("R-DUP-01", "FAIL", {
  case: { title: "two retries", origin: "fixed", isShortened: true, atMs: 1_412 },
  history: [
    { did: "a new call event", op: { k: "new", event, how: [] }, attempts: [attempt({})], moreAttempts: 0 },
    { did: "the receiver is restarted", op: { k: "restart" }, attempts: [], moreAttempts: 0 },
    {
      did: "the same event again, with the next attempt number",
      op: { k: "again", ref: 0, how: ["next_attempt"] },
      attempts: [
        attempt({
          number: 2,
          startedMs: 412.2,
          status: 409,
          got: "409 after 3 ms",
          excerpt: hostile,
          connection: "reused"
        }),
        attempt({
          number: 3,
          startedMs: 480,
          status: null,
          elapsedMs: 5_050,
          got: "no answer within 5050 ms",
          excerpt: ""
        })
      ],
      moreAttempts: 4
    }
  ],
  decidedBy: { step: 2, attempt: 0 },
  effects: [{ event: 1, webhookId: "evt_01JD3X8V6N", dataId: "7", effects: 2, digestMatches: false }],
  confirmed: { tried: 5, failed: 5 },
  curl: `curl -sS -i --max-time 5 http://127.0.0.1:9000/hook -H 'webhook-id: evt_01JD3X8V6N' --data-binary '{"event":{}}'`
})

/** A failure that follows from the one above and shows stored data. */
const follower = requirement("R-DUP-03", "FAIL", {
  level: 2,
  statement: "An event is stored as it was sent.",
  observed: "event 1: what is stored is not what was sent",
  history: [{ did: "a new call event", op: { k: "new", event, how: [] }, attempts: [attempt({})], moreAttempts: 0 }],
  effects: [
    {
      event: 1,
      webhookId: "evt_01JD3X8V6N",
      dataId: "7",
      effects: 1,
      digestMatches: false,
      stored: '{"id":7,"name":"Zo"}'
    }
  ],
  follows: ["R-DUP-01"],
  decidedBy: { step: 0, attempt: 0 }
})

export const sampleReport: Report = {
  schemaVersion: 1,
  suite: "doorhook-conformance/0.1.0",
  seed: 7,
  target: "http://127.0.0.1:9000/hook?...",
  level: 2,
  profiles: ["signed"],
  startedAt: "2026-11-21T22:15:30.123Z",
  durationMs: 18_234.5,
  maxTimeMs: 120_000,
  settleMs: 10_000,
  dedupKey: "both",
  calibration: {
    echoP99Ms: 4.2,
    guardMs: 50,
    probe: {
      kind: "http",
      name: "http://127.0.0.1:9000/probe",
      neverSent: { expected: 0, observed: 0 },
      one: { expected: 1, observed: 1 },
      two: { expected: 2, observed: 2 },
      double: null,
      upperRangeVerified: false,
      digest: true,
      lagMs: 2.5
    }
  },
  observability: [
    { what: "the answers", available: true, how: "HTTP" },
    { what: "effects", available: true, how: "http probe" },
    { what: "a restart", available: false, how: "give --restart-cmd" }
  ],
  timing: {
    attempts: 40,
    p50Ms: 3.2,
    p90Ms: 8,
    p99Ms: 5_400,
    maxMs: 5_400
  },
  baseline: { known: ["R-ACK-03"], stale: ["R-ACK-04"] },
  notes: ["The probe's upper range is unverified."],
  counts: { PASS: 1, FAIL: 1 },
  timeline: [
    { at: 0, requests: 40, limited: 0, p50Ms: 3, maxMs: 12 },
    { at: 1, requests: 12, limited: 2, p50Ms: 4, maxMs: 80 }
  ],
  verdict: "fail",
  ended: "complete",
  endedBecause: "",
  ack: "200",
  deadlineMs: 5_000,
  guardMs: 50,
  attempts: 312,
  requirements: folded([
    requirement("R-ACK-01", "PASS", { statement: "Every valid event is acknowledged at its first attempt." }),
    requirement("R-ACK-02", "PASS", { statement: "The status of the answer is exactly 200." }),
    requirement("R-ACK-03", "FAIL", {
      known: true,
      statement: "The answer comes within 5 seconds.",
      observed: "200 after 5400 ms"
    }),
    failed,
    follower,
    requirement("R-DUP-02", "INCONCLUSIVE", {
      level: 2,
      statement: "An event takes effect at most once.",
      observed: "the receiver never became quiet"
    }),
    requirement("R-LOS-01", "INCONCLUSIVE", {
      level: 2,
      statement: "What was acknowledged takes effect.",
      observed: "the time was up (--max-time) with 1 of 4 cases done"
    }),
    requirement("R-LOS-02", "INCONCLUSIVE", {
      level: 2,
      statement: "What was not acknowledged is accepted later.",
      observed: "the time was up (--max-time) with 2 of 3 cases done"
    }),
    requirement("R-DUP-07", "WARN", {
      level: 2,
      strength: "SHOULD",
      statement: "A later body does not change what was stored.",
      observed: "the digest changed"
    }),
    requirement("R-FWD-02", "NOT_OBSERVABLE", {
      statement: "Unusual values are stored as they are.",
      observed: "the probe gives no digest"
    }),
    requirement("R-GET-01", "ERROR", { statement: "GET has no effect.", observed: "the probe answered 500" }),
    requirement("R-SIG-01", "SKIPPED", {
      profile: "signed",
      statement: "A missing signature is refused.",
      observed: "left out by --skip"
    })
  ])
}
