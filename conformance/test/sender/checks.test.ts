/**
 * The requirements on senders. Each is checked on an observation that satisfies it and on one that breaks it.
 */
import { assert, describe, it } from "@effect/vitest"
import { acknowledge, plan } from "../../src/sender/Host.ts"
import type { Observation, SeenAttempt, SeenEvent, Treatment } from "../../src/sender/Host.ts"
import { senderRequirements } from "../../src/sender/SenderRequirements.ts"

/** Returns the terms of a run, with the attempts whose signatures are wrong. */
const termsFor = ({ events }: Observation) => ({
  deadline: 5_000,
  guard: 250,
  quiet: 15_000,
  signatures: new Map(
    events
      .flatMap(({ attempts }) => attempts)
      .filter(({ headers }) => headers["webhook-signature"] !== "v1,x")
      .map((seen) => [seen, "wrong_signature"])
  )
})
const start = 1_790_000_000_000

const attempt = (event: number, index: number, treatment: Treatment, over: Partial<SeenAttempt> = {}): SeenAttempt => {
  const at = event * 10 + index * 60_000
  return {
    at,
    wallClock: start + at,
    method: "POST",
    path: "/hook",
    headers: {
      "content-type": "application/json",
      "webhook-id": `evt_${event}`,
      "webhook-timestamp": String(Math.floor((start + at) / 1_000)),
      "webhook-signature": "v1,x",
      "doorhook-attempt": String(index + 1)
    },
    body: `{"event":{"resource_type":"call","action":"create","data":{"id":${event}}}}`,
    treatment,
    // A sender gives up an attempt when the answer is late.
    gaveUpAfter: treatment.k === "after" && treatment.share > 1 ? 5_000 : null,
    ...over
  }
}

/** The events that a correct sender sends: one for each row of the plan, with attempts until it is acknowledged. */
const events: ReadonlyArray<SeenEvent> = plan.map((treatments, event) => {
  const slow = treatments.some((one) => one.k === "after" && one.share < 1)
  return {
    number: event + 1,
    attempts: [...treatments, ...(slow ? [] : [acknowledge])].map((one, index) => attempt(event, index, one))
  }
})

/** Ten minutes after the start. */
const until = 600_000
const good: Observation = { events, strays: [], until }

/** Returns the events of a correct sender, with each attempt changed. */
const changed = (change: (seen: SeenAttempt, index: number) => SeenAttempt): Observation => ({
  events: events.map(({ attempts, number }) => ({ number, attempts: attempts.map(change) })),
  strays: [],
  until
})

/** Returns the events of a correct sender, without the attempts that follow a treatment for which `isLast` is true. */
const endingAfter = (isLast: (treatment: Treatment) => boolean, end = until): Observation => ({
  events: events.map(({ attempts, number }) => {
    const last = attempts.findIndex(({ treatment }) => treatment !== null && isLast(treatment))
    return { number, attempts: last === -1 ? attempts : attempts.slice(0, last + 1) }
  }),
  strays: [],
  until: end
})

const header = (name: string, value: (index: number, given: string) => string): Observation =>
  changed((seen, index) => ({ ...seen, headers: { ...seen.headers, [name]: value(index, seen.headers[name] ?? "") } }))

const isStatus = (least: number, most: number) => (one: Treatment) =>
  one.k === "status" && one.status >= least && one.status <= most

const broken: ReadonlyArray<readonly [what: string, id: string, observation: Observation]> = [
  ["a PUT", "S-BODY-01", changed((seen) => ({ ...seen, method: "PUT" }))],
  ["another content type", "S-BODY-01", header("content-type", () => "text/plain")],
  ["no JSON", "S-BODY-01", changed((seen) => ({ ...seen, body: "event=1" }))],
  ["no event", "S-BODY-01", changed((seen) => ({ ...seen, body: '{"data":{}}' }))],
  [
    "no data",
    "S-BODY-01",
    changed((seen) => ({ ...seen, body: '{"event":{"resource_type":"call","action":"create"}}' }))
  ],
  ["a new id at each attempt", "S-ID-01", header("webhook-id", (index, given) => `${given}_${index}`)],
  ["no id", "S-ID-01", header("webhook-id", () => "")],
  [
    "another body at each attempt",
    "S-ID-02",
    changed((seen, index) => ({ ...seen, body: `${seen.body}${" ".repeat(index)}` }))
  ],
  ["one attempt number", "S-ATT-01", header("doorhook-attempt", () => "1")],
  [
    "the timestamp of the first attempt",
    "S-TIME-01",
    header("webhook-timestamp", (index, given) => String(Number(given) - index * 60))
  ],
  ["a timestamp in milliseconds", "S-TIME-01", header("webhook-timestamp", () => String(start))],
  ["no retry after an error", "S-RETRY-01", endingAfter(isStatus(400, 599))],
  ["no retry after a 404", "S-RETRY-01", endingAfter(isStatus(404, 404))],
  ["content with 202", "S-RETRY-02", endingAfter(isStatus(201, 299))],
  ["no retry after a broken connection", "S-RETRY-03", endingAfter(({ k }) => k === "reset")],
  [
    "a redirect followed",
    "S-REDIR-01",
    { ...good, strays: [attempt(3, 1, acknowledge, { treatment: null, method: "GET" })] }
  ],
  ["no retry after a redirect", "S-REDIR-01", endingAfter(({ k }) => k === "redirect")],
  ["no deadline", "S-LATE-01", changed((seen) => ({ ...seen, gaveUpAfter: null }))],
  ["no retry after a late answer", "S-LATE-01", endingAfter((one) => one.k === "after" && one.share > 1)],
  ["impatience", "S-LATE-01", changed((seen) => (seen.gaveUpAfter === null ? seen : { ...seen, gaveUpAfter: 2_000 }))],
  [
    "impatience",
    "S-LATE-02",
    changed((seen) => (seen.treatment?.k === "after" ? { ...seen, gaveUpAfter: 2_000 } : seen))
  ],
  ["another signature", "S-SIG-01", header("webhook-signature", () => "v1,y")],
  [
    "one attempt too many",
    "S-DONE-01",
    {
      ...good,
      events: events.map(({ attempts, number }) => ({
        number,
        attempts: [...attempts, attempt(number - 1, attempts.length, acknowledge)]
      }))
    }
  ]
]

describe("the checks of a sender", () => {
  it("pass a correct sender", () => {
    for (const { check, id } of senderRequirements) {
      const { observed, verdict } = check(good, termsFor(good))
      assert.strictEqual(verdict, "PASS", `${id}: ${observed}`)
    }
  })

  it("are inconclusive if nothing was seen", () => {
    for (const { check, id } of senderRequirements) {
      const nothing = { events: [], strays: [], until }
      assert.strictEqual(check(nothing, termsFor(nothing)).verdict, "INCONCLUSIVE", id)
    }
  })

  it.each(broken)("detect %s with %s", (_, id, observation) => {
    const requirement = senderRequirements.find((one) => one.id === id)
    assert.strictEqual(requirement?.check(observation, termsFor(observation)).verdict, "FAIL")
  })

  const retries = (observation: Observation) =>
    senderRequirements.flatMap(({ check, id }) =>
      id === "S-RETRY-01" ? [check(observation, termsFor(observation))] : []
    )[0] ?? assert.fail("no such requirement")

  it.each([
    ["the second retry is not due yet", endingAfter(isStatus(503, 503))],
    ["an attempt is younger than the usual delay before its retry", endingAfter(isStatus(500, 500), 70_000)],
    ["there was no time for any retry", endingAfter(() => true, 14_000)]
  ])("leave retries undecided if the time was up while %s", (_, observation) => {
    const { observed, verdict } = retries(observation)
    assert.strictEqual(verdict, "INCONCLUSIVE", observed)
    assert.match(observed, /^event \d+, attempt \d: .* \d+ s; then the time was up \(--max-time\)$/)
  })

  it("detect that nothing was retried during the quiet time", () => {
    assert.strictEqual(retries(endingAfter(() => true, 20_000)).verdict, "FAIL")
  })

  it("say that signatures can't be seen without the secret", () => {
    const signed = senderRequirements.find(({ id }) => id === "S-SIG-01")
    assert.strictEqual(signed?.check(good, { ...termsFor(good), signatures: null }).verdict, "NOT_OBSERVABLE")
  })

  it("each detect something", () => {
    assert.deepStrictEqual(
      senderRequirements.map(({ id }) => id).filter((id) => !broken.some(([, breaks]) => breaks === id)),
      []
    )
  })
})
