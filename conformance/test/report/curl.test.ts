/**
 * The curl command of a failure. It sends the same request as the suite. The report omits it if curl can't send that
 * request.
 */
import { wordsOf } from "@doorhook/testkit/Bash"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { HttpRequest } from "../../src/evidence/Exchange.ts"
import type { Trace } from "../../src/evidence/Trace.ts"
import { accessLog, call } from "../../src/history/Events.ts"
import { again, newEvent, raceNew } from "../../src/history/History.ts"
import type { Operation } from "../../src/history/Operations.ts"
import { retry } from "../../src/history/Variations.ts"
import type { Variation } from "../../src/history/Variations.ts"
import { defaultCriteria } from "../../src/judgement/Criteria.ts"
import { noMeans } from "../../src/record/Options.ts"
import { curlCommand, curlOf } from "../../src/report/Steps.ts"
import { runSuite } from "../../src/run/RunSuite.ts"
import { answer, receiver } from "../support/receiver.ts"
import { attemptOf, traceOf } from "../support/traces.ts"

const url = new URL("http://127.0.0.1:9000/hook")
const curl = "curl -sS -i --max-time 0.4"
const plain: HttpRequest = { method: "POST", headers: {}, body: "{}" }
const sent = (over: Partial<HttpRequest> = {}, how: ReadonlyArray<Variation> = [], to = url) => ({
  url: to,
  request: { ...plain, ...over },
  how
})

describe("a command", () => {
  it("carries the headers and the body", () => {
    const command = curlOf([sent({ headers: { "webhook-id": "evt_1" }, body: `{"name":"O'Neill 🔑"}` })], 400)
    const request = ["-H", "webhook-id: evt_1", "--data-binary", `{"name":"O'Neill 🔑"}`]
    assert.deepStrictEqual(wordsOf(command), [...curl.split(" "), "http://127.0.0.1:9000/hook", ...request])
  })

  it("sets a method other than POST, and what curl would not send by default", () => {
    const words = (...each: Parameters<typeof sent>) => wordsOf(curlOf([sent(...each)], 400)).slice(6)
    const headers = { "webhook-id": "evt_1" }
    assert.deepStrictEqual(words({ method: "GET" }), ["-X", "GET", "--data-binary", "{}"])
    assert.includeMembers(words({}, ["chunked"]), ["--http1.1", "transfer-encoding: chunked"])
    assert.includeMembers(words({}, ["expect"]), ["expect: 100-continue"])
    assert.includeMembers(words({}, ["close"]), ["connection: close"])
    assert.includeMembers(words({ headers }, ["upper_headers"]), ["WEBHOOK-ID: evt_1"])
    assert.includeMembers(words({ headers }, ["title_headers"]), ["Webhook-Id: evt_1"])
    // curl does not send a header that is written with a colon and no value.
    assert.includeMembers(words({ headers: { "webhook-id": "" } }), ["webhook-id;"])
  })

  it("sends each of several requests: equal ones in a loop, and to both URLs if there are two", () => {
    assert.strictEqual(
      curlOf([sent(), sent()], 400),
      `for attempt in 1 2; do ${curl} ${url.href} --data-binary '{}'; echo; done`
    )
    assert.strictEqual(
      curlOf([sent(), sent({}, [], new URL("https://a.test/b?token=hush"))], 400),
      `for url in ${url.href} 'https://a.test/b?...'; do ${curl} "$url" --data-binary '{}'; echo; done`
    )
    assert.strictEqual(
      curlOf([sent(), sent({ body: "{ }" })], 400),
      `${curl} ${url.href} --data-binary '{}'; echo; ${curl} ${url.href} --data-binary '{ }'`
    )
  })
})

/** Returns the command for a failure at the last of these operations. Each operation sent one request for an event. */
const after = (
  ops: ReadonlyArray<Operation>,
  events: ReadonlyArray<number>,
  headers: HttpRequest["headers"] = {},
  over: Partial<Trace> = {}
): string | null => {
  const attempts = events.map((event, op) =>
    attemptOf({
      op,
      event,
      first: op === 0,
      webhook_id: `evt_${event}`,
      endpoint: url.href,
      request: { ...plain, headers }
    })
  )
  const trace = traceOf(attempts, { ops, ...over })
  return curlCommand({ trace, attempt: attempts.length - 1, criteria: { ...defaultCriteria, deadline: 400 } })
}

describe("the command of a failure", () => {
  it("is given if the requests of one event show the failure", () => {
    assert.match(after([newEvent(accessLog)], [0]) ?? "", /^curl /)
    assert.match(after([newEvent(accessLog), again(0, retry)], [0, 0]) ?? "", /^for attempt in 1 2; do curl /)
    assert.match(after([newEvent(accessLog), newEvent(call)], [0]) ?? "", /^curl /)
    assert.include(after([newEvent(accessLog, ["chunked"])], [0]), "transfer-encoding: chunked")
  })

  it("is left out if it would not contain everything that mattered", () => {
    const stalled: Operation = { k: "stalled", count: 4, percent: 50 }
    assert.isNull(after([newEvent(accessLog)], [0], { "webhook-signature": "v1,c2VjcmV0" }), "a signature")
    assert.isNull(after([stalled, newEvent(accessLog)], [1, 0]), "stalled connections")
    assert.isNull(after([newEvent(accessLog), { k: "restart" }], [0]), "a restart")
    assert.isNull(after([raceNew(accessLog, 3), again(0, retry)], [0, 0]), "copies at once")
    assert.isNull(after([newEvent(accessLog), newEvent(call)], [0, 1]), "another event before")
    assert.isNull(after([newEvent(accessLog, ["slow"])], [0]), "a slow body")
    assert.isNotNull(after([newEvent(accessLog)], [0], { "webhook-signature": "" }), "a signature that is empty")
    const killed = { op: null, what: "killed", by: "a crash", from: 1, until: 2 } as const
    assert.isNull(after([newEvent(accessLog)], [0], {}, { interventions: [killed] }), "a kill by another case")
  })

  it.live("sends chunks if chunks made the receiver fail", () =>
    Effect.gen(function* () {
      const target = yield* receiver(({ headers }, response) =>
        answer(response, headers["transfer-encoding"] === undefined ? 200 : 411)
      )
      const urls = [new URL(target.url)] as const
      const report = yield* runSuite(
        { url: [target.url], only: ["R-HTTP-01"], seed: 7, cases: null },
        { ...noMeans, urls }
      )
      const [requirement] = report.requirements
      assert.strictEqual(requirement?.verdict, "FAIL")
      assert.include(requirement?.curl, "-H 'transfer-encoding: chunked'")
    })
  )
})
