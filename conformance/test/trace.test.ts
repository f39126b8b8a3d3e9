/**
 * Stored traces: what `check` says of one is what the run said that wrote it.
 */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { Effect, Schema } from "effect"
import * as fc from "fast-check"
import { mkdirSync, writeFileSync } from "node:fs"
import { defaultTerms } from "../src/checks/Terms.ts"
import type { CaseRun, Refinement } from "../src/executor/Judgement.ts"
import type { Attempt, Effects, Trace } from "../src/observed/Trace.ts"
import type { History } from "../src/history/History.ts"
import { makeReport } from "../src/report/MakeReport.ts"
import { requirements } from "../src/requirements/index.ts"
import type { Facts } from "../src/record/Facts.ts"
import { factsOf } from "../src/record/Facts.ts"
import type { Record } from "../src/record/Record.ts"
import { outcomesOf } from "../src/record/Record.ts"
import { withDefaults } from "../src/record/SuiteOptions.ts"
import { suite } from "../src/Suite.ts"
import { Line } from "../src/trace/Lines.ts"
import { fromLines } from "../src/trace/ReadTrace.ts"
import { linesOf } from "../src/trace/WriteTrace.ts"
import { conformance } from "./support/command.ts"
import { answer, receiver } from "./support/receiver.ts"

const url = "http://127.0.0.1:9000/hook"

const record: Record = {
  suite,
  facts: factsOf(withDefaults({ url: new URL(url) }, 7)),
  terms: defaultTerms,
  echo: 1.25,
  startedAt: "2026-03-02T08:00:00.000Z",
  durationMs: 1_234,
  calibration: null,
  ended: { how: "complete", message: "" },
  runs: [],
  refinements: [],
  strangers: []
}

const decode = Schema.decodeSync(Schema.fromJsonString(Line))

/** What is read back of what would be written. */
const storedAndRead = (written: Record) =>
  fromLines(Array.from(linesOf(written, { files: new Map(), problem: null }), (line) => decode(JSON.stringify(line))))

/** Of every way of judging one; none that draws many histories. */
const only = ["R-ACK-02", "R-ACK-03", "R-DUP-01", "R-DUP-04", "R-DUP-05", "R-LOS-03", "R-CRA-01"]

const histories: ReadonlyArray<History> = requirements
  .filter(({ id }) => only.includes(id))
  .flatMap(({ directed }) => directed.map(({ history }) => history))

const seconds = fc.double({ min: 0, max: 9_000, noNaN: true, noDefaultInfinity: true })
const place = fc.nat(3)

const exchanges: fc.Arbitrary<Attempt["exchange"]> = fc.oneof(
  fc.record({
    _tag: fc.constant("Answered" as const),
    status: fc.constantFrom(200, 204, 302, 409, 500),
    retry_after: fc.constantFrom(null, "7"),
    excerpt: fc.string({ unit: "binary" }),
    headers_elapsed: seconds,
    elapsed: seconds,
    ending: fc.constantFrom("complete", "unfinished", "cut_off", "malformed"),
    bytes: fc.nat(),
    location: fc.constant(null),
    detail: fc.constantFrom(null, "why"),
    headers: fc.constant({ server: "x" })
  }),
  fc.record({
    _tag: fc.constant("Failed" as const),
    outcome: fc.constantFrom("timeout", "connection_reset"),
    detail: fc.string(),
    elapsed: seconds,
    connected: fc.boolean()
  })
)

const attempts: fc.Arbitrary<Attempt> = fc.record({
  kind: fc.constantFrom("delivery", "cut", "amid", "forged", "malformed", "method", "load"),
  op: place,
  event: place,
  number: fc.nat(9),
  first: fc.boolean(),
  raced: fc.boolean(),
  provisional: fc.boolean(),
  webhook_id: fc.string(),
  endpoint: fc.constantFrom(url, `${url}#1`),
  request: fc.record({
    method: fc.constant("POST" as const),
    headers: fc.constant({ "webhook-id": "evt_1" }),
    body: fc.string({ unit: "grapheme" }),
    encoding: fc.constantFrom("utf8", "latin1")
  }),
  reused: fc.boolean(),
  started: seconds,
  exchange: exchanges
})

const effects: fc.Arbitrary<Effects | null> = fc.option(
  fc.record({ last: fc.nat(3), most: fc.nat(3), digest: fc.constantFrom(null, "sha256:00") })
)

/** Traces of requirements' own histories. Attempts to the first URL come first, as they do in a run. */
const traces = (history: History): fc.Arbitrary<Trace> =>
  fc
    .record({
      events: fc.array(
        fc.record({
          webhookId: fc.string(),
          resourceType: fc.constant("call"),
          dataId: fc.constant("7"),
          documented: fc.boolean(),
          digest: fc.constant("sha256:00"),
          bulk: fc.boolean()
        }),
        { minLength: 4, maxLength: 4 }
      ),
      attempts: fc.array(attempts, { maxLength: 6 }),
      interventions: fc.array(fc.record({ op: place, what: fc.string(), over: seconds }), { maxLength: 1 }),
      shortfalls: fc.array(
        fc.record({
          op: place,
          what: fc.constantFrom("events", "wait", "load", "steps", "connections"),
          done: seconds,
          of: seconds
        }),
        { maxLength: 1 }
      ),
      effects: fc.array(effects, { minLength: 4, maxLength: 4 }),
      effectsElsewhere: fc.constant([])
    })
    .chain((trace) =>
      fc
        .constantFrom({}, { byDataId: true }, { blindToUrls: true }, { blindToUrls: false })
        .map((sight) => ({ history, ...trace, ...sight }))
    )

const runs: fc.Arbitrary<CaseRun> = fc.nat(histories.length - 1).chain((at): fc.Arbitrary<CaseRun> => {
  const history = histories[at] ?? { v: 1, ops: [] }
  return fc.record({
    case: fc.record({ title: fc.string(), lane: fc.constantFrom("timing", "state"), history: fc.constant(history) }),
    alone: fc.boolean(),
    whole: fc.boolean(),
    settled: fc.boolean(),
    trace: traces(history),
    repeats: fc.array(traces(history), { maxLength: 2 })
  })
})

const records: fc.Arbitrary<Record> = fc
  .record({
    runs: fc.array(runs, { minLength: 1, maxLength: 4 }),
    ended: fc.record({
      how: fc.constantFrom("complete", "time_up", "interrupted", "target_unusable", "probe_unusable"),
      message: fc.string()
    }),
    strangers: fc.constantFrom([], ["evt_somebodys0000000000000000"]),
    level: fc.constantFrom(1, 2, 3),
    shortened: fc.boolean()
  })
  .map(({ level, shortened, ...some }) => {
    const [trace] = some.runs.flatMap(({ repeats }) => repeats)
    const refinement: Refinement = {
      requirement: "R-DUP-04",
      confirmed: { tried: 5, failed: 4 },
      shortened: shortened && trace !== undefined ? { place: 0, trace } : null
    }
    const facts: Facts = { ...record.facts, level, only, given: ["effects", "digest", "kill", "stop"] }
    return { ...record, ...some, facts, refinements: [refinement] }
  })

describe("a stored trace", () => {
  it("is read back as it was, and judged alike", () => {
    fc.assert(
      fc.property(records, (written) => {
        // The first URL is the one that is sent to first.
        const first = written.runs[0]?.trace.attempts[0]
        fc.pre(first === undefined || first.endpoint === url)
        const read = storedAndRead(written)?.record
        assert.isDefined(read)
        const reportOf = (one: Record) =>
          makeReport({ record: one, outcomes: outcomesOf(one), files: new Map(), problem: null })
        assert.deepStrictEqual(reportOf(read ?? record), reportOf(written))
      }),
      { numRuns: 60 }
    )
  })

  it("holds no signature, no query and no other URL's name", () => {
    const trace = fc.sample(traces(histories[0] ?? { v: 1, ops: [] }), { numRuns: 1, seed: 1 })[0]
    const attempt = fc.sample(attempts, { numRuns: 1, seed: 1 })[0]
    if (trace === undefined || attempt === undefined) return assert.fail("nothing was drawn")
    const signed: Attempt = {
      ...attempt,
      endpoint: `${url}?token=hush`,
      request: { ...attempt.request, headers: { "webhook-signature": "v1,hush" } }
    }
    const other: Attempt = { ...signed, endpoint: `${url}?token=hush2` }
    const one: CaseRun = {
      case: { title: "", lane: "state", history: trace.history },
      alone: true,
      whole: true,
      settled: true,
      trace: { ...trace, attempts: [signed, other] },
      repeats: []
    }
    const facts = factsOf(withDefaults({ url: new URL(`${url}?token=hush`) }, 7))
    const written = { ...record, facts, runs: [one] }
    assert.notInclude(JSON.stringify([...linesOf(written, { files: new Map(), problem: null })]), "hush")
    const endpoints = storedAndRead(written)?.record.runs[0]?.trace.attempts.map(({ endpoint }) => endpoint)
    assert.strictEqual(new Set(endpoints).size, 2, "two URLs stay two")
  })
})

describe("check", () => {
  it.live("prints and exits like the run that wrote the trace, and sends nothing", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      for (const status of [200, 409]) {
        const target = yield* receiver(({ duplicate }, response) => answer(response, duplicate ? status : 200))
        const file = `${folder}/${status}.ndjson`
        // Among what R-FWD-02 sends are characters that some take for ends of lines.
        const flags = ["--url", target.url, "--only", "R-ACK-02,R-DUP-01,R-FWD-02", "--trace", file]
        const ran = yield* conformance("run", ...flags)
        const sent = target.received.length
        const checked = yield* conformance("check", file)
        assert.strictEqual(ran.exitCode, status === 200 ? 0 : 1, ran.output)
        assert.deepStrictEqual(
          [checked.exitCode, checked.message, checked.output],
          [ran.exitCode, ran.message, ran.output]
        )
        assert.strictEqual(target.received.length, sent)
        const over = yield* conformance("check", file, "--report", `json=${file}`)
        assert.deepStrictEqual(
          [over.exitCode, over.message],
          [3, `--report json=${file}: expected another file than that of TRACE ${file}`]
        )
        assert.strictEqual((yield* conformance("check", file)).output, ran.output)
      }
    }).pipe(Effect.scoped)
  )

  it.live("says what is wrong with a file: exit code 3", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const lines = [...linesOf(record, { files: new Map(), problem: null })].map((line) => JSON.stringify(line))
      writeFileSync(`${folder}/half`, `${lines.slice(0, -1).join("\n")}\n`)
      writeFileSync(`${folder}/other`, `${lines[0]}\n{"line":"something"}\n`)
      for (const [name, says] of [
        ["none", /none can't be read: there is no such file or folder\. /],
        ["half", /lacks its first or its last line/],
        ["other", /line 2 can't be understood/]
      ] as const) {
        const { exitCode, message } = yield* conformance("check", `${folder}/${name}`)
        assert.strictEqual(exitCode, 3, message)
        assert.match(message, says)
        assert.include(message, "--trace FILE")
      }
    }).pipe(Effect.scoped)
  )

  it.live("judges by its own rules what another version ran, and says so", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const older = { ...record, suite: "doorhook-conformance/0.0.1" }
      const lines = [...linesOf(older, { files: new Map(), problem: null })].map((line) => JSON.stringify(line))
      writeFileSync(`${folder}/older`, lines.join("\n"))
      const { exitCode, output } = yield* conformance("check", `${folder}/older`)
      assert.strictEqual(exitCode, 2, output)
      assert.include(output, "Run by doorhook-conformance/0.0.1 and judged by ")
    }).pipe(Effect.scoped)
  )

  it.live("finds the file of --trace refused before anything is sent", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      mkdirSync(`${folder}/taken`)
      for (const file of [`${folder}/taken`, `${folder}/no/such.ndjson`]) {
        const { exitCode, message } = yield* conformance("run", "--url", "http://127.0.0.1:9/", "--trace", file)
        assert.strictEqual(exitCode, 3)
        assert.match(message, /^--trace \S+: expected a file that can be written; /)
      }
    }).pipe(Effect.scoped)
  )
})
