/**
 * What `simulate run` is told on the command line: receivers, objectives, disorder; and what it answers to nonsense.
 */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { CommandFailure, Crypto, DeliveryStore, MemoryStore, StoreError, Transport } from "@doorhook/core"
import {
  csvReport,
  disturbed,
  htmlReport,
  Measurements,
  plan,
  readReceiver,
  readScenario,
  readSlos,
  receiverForms,
  simulateCommand
} from "@doorhook/simulator"
import type { RunReport } from "@doorhook/simulator"
import { temporaryFolder } from "@doorhook/testkit/Process"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result, Stream } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { TestConsole } from "effect/testing"
import { Equipment } from "../src/run/Equipment.ts"
import { Rng, root } from "../src/random/Substream.ts"
import { Receiver } from "../src/receivers/Receiver.ts"
import { describedFor, modelFor } from "../src/receivers/ReceiverText.ts"
import { failureOf } from "../src/cli/real/Failing.ts"
import { bandsOf } from "../src/report/sections/TimeAxis.ts"
import { makeReport } from "../src/results/MakeReport.ts"
import { manyBuildings } from "../src/run/ManyBuildings.ts"
import { Histogram } from "../src/results/Histogram.ts"
import { scenarioOf, startAt } from "./support.ts"

const platform = Layer.mergeAll(NodePlatform.layer, FetchHttpClient.layer, TestConsole.layer)
const simulate = (...args: ReadonlyArray<string>) => Command.runWith(simulateCommand, { version: "0" })(args)

/** What a receiver answers to many requests at a minute of a day, as outcomes with how often each was. */
const answersOf = (texts: ReadonlyArray<string>, minute = 600, date = "2026-03-03", sinceStart = 0) => {
  const rules = texts.map((text) => Result.getOrThrow(readReceiver(text)))
  const receiver = new Receiver(modelFor(rules, 1), new Rng(root(7)))
  const counts = new Map<string, number>()
  const times = new Histogram()
  for (let nth = 0; nth < 4_000; nth++) {
    const { processed, result } = receiver.receive({
      now: nth * 100,
      sinceStart,
      deadline: 5_000,
      local: { minute, date }
    })
    const name = `${result._tag === "Answered" ? result.status : result.outcome}${processed ? "" : " unprocessed"}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
    times.add(result.elapsed)
  }
  return { counts, times, share: (name: string) => (counts.get(name) ?? 0) / 4_000 }
}

describe("modelled receivers", () => {
  it("take as long as they are said to, and what is late for the sender is done all the same", () => {
    const { share, times } = answersOf(["slow:p50=2s,p99=9s"])
    assert.approximately(times.quantile(0.5), 2_000, 150)
    // ln 4.5 / 2.326 is the spread; of such times 7.8 % are above 5 s.
    assert.approximately(share("timeout"), 0.078, 0.02)
    assert.approximately(share("200"), 0.922, 0.02)
  })

  it("fail as often as they are said to, alone and together", () => {
    assert.approximately(answersOf(["duplicate-ack-lost:10%"]).share("connection_reset"), 0.1, 0.02)
    assert.approximately(answersOf(["late:0.2"]).share("timeout"), 0.2, 0.02)
    const { share } = answersOf(["flaky:0.3", "late:0.5"])
    assert.approximately(share("200"), 0.35, 0.03)
    assert.approximately(share("500 unprocessed") + share("502 unprocessed"), 0.21, 0.03)
    assert.approximately(share("connection_reset unprocessed"), 0.09, 0.02)
  })

  it("are down by the clock, over midnight too, and on one day alone", () => {
    const refused = (text: string, minute: number, date = "2026-03-03") =>
      answersOf([text], minute, date).share("connection_refused unprocessed")
    assert.deepStrictEqual(
      [539, 540, 899, 900].map((minute) => refused("down:09:00-15:00", minute)),
      [0, 1, 1, 0]
    )
    assert.deepStrictEqual(
      [1319, 1320, 0, 359, 360].map((minute) => refused("down:22:00-06:00", minute)),
      [0, 1, 1, 1, 0]
    )
    assert.deepStrictEqual(
      ["2026-03-02", "2026-03-03", "2026-03-04"].map((date) => refused("down:09:00-15:00,on=2026-03-03", 600, date)),
      [0, 1, 0]
    )
    assert.strictEqual(refused("down:22:00-06:00,on=2026-03-03", 60, "2026-03-04"), 1)
    assert.strictEqual(refused("down", 0), 1)
  })

  it("limit the rate and say when to come back; go away for good from a time on", () => {
    // 4,000 requests in 400 s, three each second.
    assert.approximately(answersOf(["rate-limited:3/s"]).share("200"), 0.3, 0.01)
    assert.strictEqual(answersOf(["gone:after=2h"], 600, "2026-03-03", 7_199_999).share("200"), 1)
    assert.strictEqual(answersOf(["gone:after=2h"], 600, "2026-03-03", 7_200_000).share("410 unprocessed"), 1)
  })

  it("are one integration's, some integrations', or everybody's", () => {
    const places = (text: string) => {
      const { appliesTo } = Result.getOrThrow(readReceiver(text))
      return Array.from({ length: 20 }, (_, at) => at + 1).filter(appliesTo)
    }
    assert.deepStrictEqual(places("3=gone"), [3])
    assert.deepStrictEqual(places("2-4=gone"), [2, 3, 4])
    assert.deepStrictEqual(places("10%=gone"), [10, 20])
    assert.strictEqual(places("gone").length, 20)
  })

  it("take every percentage to the last place", () => {
    for (let percent = 1; percent <= 100; percent++) {
      const { appliesTo } = Result.getOrThrow(readReceiver(`${percent}%=down`))
      const taken = Array.from({ length: 100 }, (_, at) => at + 1).filter(appliesTo)
      assert.deepStrictEqual([percent, taken.length, taken.at(-1)], [percent, percent, 100])
    }
  })

  it("are all read that are offered, and everything else is answered with what is accepted", () => {
    for (const form of receiverForms) assert.isTrue(Result.isSuccess(readReceiver(form)), form)
    const nonsense = [
      "",
      "fast",
      "slow",
      "slow:p50=9s,p99=2s",
      "slow:p50=x",
      "down:9-15",
      "down:25:00-26:00",
      "down:09:00-09:00"
    ]
    const more = [
      "flaky",
      "flaky:2",
      "flaky:-1",
      "late:x",
      "rate-limited:10",
      "rate-limited:10/d",
      "gone:after=x",
      "0=gone",
      "4-2=gone",
      "constructor"
    ]
    for (const text of [...nonsense, ...more, "down:09:00-15:00,on=2026-02-30"]) {
      const read = readReceiver(text)
      assert.isTrue(Result.isFailure(read), text)
      if (Result.isFailure(read)) assert.include(read.failure, "slow:p50=2s,p99=9s / down")
    }
  })
})

describe("many buildings", () => {
  it("have numbers of their own, however high those of the scenario are", () => {
    const house = { homes: { flats: 3 } }
    const buildings = [
      { ...house, name: "Low", id: 1 },
      { ...house, name: "High", id: 1_001 }
    ]
    const scenario = Result.getOrThrow(readScenario(JSON.stringify({ name: "x", buildings })))
    const all = manyBuildings(scenario, 3).buildings
    const distinct = (numbers: ReadonlyArray<number>) => assert.strictEqual(new Set(numbers).size, numbers.length)
    distinct(all.map(({ building }) => building.id))
    distinct(all.flatMap(({ building }) => building.units.flatMap(({ tenant_ids }) => tenant_ids)))
    distinct(all.flatMap(({ building }) => building.units.map(({ id }) => id)))
  })
})

describe("objectives", () => {
  it("are read with their spaces, their percentages and their other name", () => {
    const slos = Result.getOrThrow(readSlos("ack_p99<5s, loss=0,rate>=95% ,delivery_p99.9<=1h,backlog<500"))
    assert.deepStrictEqual(
      slos.map(({ operator, value }) => [operator, value]),
      [
        ["<", 5_000],
        ["=", 0],
        [">=", 0.95],
        ["<=", 3_600_000],
        ["<", 500]
      ]
    )
  })

  it.each([
    "",
    "ack_p99",
    "ack<5s",
    "ack_p77<5s",
    "ack_p99<5",
    "ack_p99<<5s",
    "lost=none",
    "rate>=95s",
    "rate>200%",
    "lost=0,"
  ])("%j is answered with what is accepted", (text) => {
    const read = readSlos(text)
    assert.isTrue(Result.isFailure(read))
    if (Result.isFailure(read)) assert.match(read.failure, /METRIC OPERATOR VALUE|is compared with/)
  })
})

describe("disorder", () => {
  it.effect("repeats, moves and delays as many as it is told, keeps the order of time, and loses none", () =>
    Effect.gen(function* () {
      const day = plan(scenarioOf("office-1000"), { seed: 1, start: startAt("2026-03-03T00:00"), duration: 86_400_000 })
      const events = yield* Stream.runCollect(day)
      const sent = yield* Stream.runCollect(
        disturbed(day, { repeated: 0.1, reordered: 0.2, delayed: 0.05 }, new Rng(root(3)))
      )
      const count = (kind: string) => sent.filter((sending) => sending.kind === kind).length / events.length
      assert.approximately(count("repeated"), 0.1, 0.02)
      assert.approximately(count("delayed"), 0.05, 0.02)
      assert.approximately(count("reordered"), 0.19, 0.03)
      const ids = ({ event }: (typeof sent)[number]) => event.data.id
      const firsts = sent.filter(({ kind }) => kind !== "repeated")
      assert.sameMembers(
        firsts.map(ids),
        events.map(({ data }) => data.id)
      )
      assert.deepStrictEqual(
        sent.map(({ at }) => at),
        sent.map(({ at }) => at).toSorted((a, b) => a - b)
      )
      for (const { at, event, kind } of sent) {
        const moved = at - Date.parse(event.at)
        if (kind === "planned") assert.strictEqual(moved, 0)
        else assert.isAbove(moved, 0)
      }
    })
  )
})

/** A network on which nobody is at home. */
const deserted = {
  transport: Layer.effect(
    Transport,
    Transport.fromPost(() =>
      Effect.succeed({ _tag: "Failed", outcome: "connection_refused", detail: "nobody", elapsed: 1 })
    )
  ),
  crypto: Crypto.layerWebCrypto,
  sqlite: () => MemoryStore.layer
}

describe("a run whose waiting ends with work open", () => {
  it.live("says that it is open, not lost; and what it did not measure is not met", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "report.json")
      const args = ["run", "--as-fast-as-possible", "--duration", "30m", "--start", "2026-03-03T08:00"]
      const more = ["--receiver", "slow:p50=700ms,p99=800ms", "--grace", "20ms", "--slo", "late_p99<1ms,lost=0"]
      const failure = yield* Effect.flip(simulate(...args, ...more, "--report", `json=${file}`))
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.message, "Objectives missed: late_p99<1ms (not measured in this run)")
      const said = (yield* TestConsole.logLines).join("\n")
      assert.match(said, /\nopen +\d+ when the waiting ended; --grace says/)
      assert.match(said, /\nmet +lost=0 \(0\)/)
      assert.match(said, /\nsent +in \d+ ms, [\d,]+ events\/s\ntook +[\d.]+ s$/m)
      assert.notMatch(said, /\n(broken|late|rate|intended) /)
      assert.include(yield* Effect.promise(() => readFile(file, "utf8")), "--grace 20ms")
    }).pipe(Effect.provide(platform))
  )
})

describe("a report of a service", () => {
  const measurements = new Measurements()
  const totals = measurements.integration(1, "North Tower")
  for (let nth = 0; nth < 5_000; nth++) {
    measurements.start("planned", 0)
    measurements.accept(10, 10)
    measurements.told(totals, "delivered", 1)
    if (nth % 5 === 0) measurements.sampled(nth, "acknowledged", 100, 150)
  }
  const reportOf = (kind: RunReport["kind"], slos = "lost=0", lost = 0, broken = 0) =>
    makeReport({
      facts: {
        kind,
        target: "against it",
        scenario: "quiet",
        description: "Quiet",
        seed: 1,
        start: "2026-03-03T08:00",
        time_zone: "UTC",
        duration: 60_000,
        buildings: 1,
        integrations: 1,
        speed: 1,
        ack_timeout: null,
        retry: null,
        command: "npx doorhook simulate run",
        began_at: "2026-03-03T08:00:00.000Z"
      },
      measurements,
      slos: Result.getOrThrow(readSlos(slos)),
      lost,
      broken,
      violations: [],
      crashes: 0,
      storage: null,
      storageFailure: null,
      took: 60_000,
      sending: 60_000,
      interrupted: false,
      stopped: false
    })

  it("shows what nobody could see as not measured, judges it as missed, and does not count with it", () => {
    const report = reportOf("service", "backlog<1,broken=0,ack_p99<1s")
    assert.deepStrictEqual(
      report.slos.map(({ measured, met }) => [met, measured]),
      [
        [false, "not measured in this run"],
        [false, "not measured in this run"],
        [true, "100 ms"]
      ]
    )
    const asked = report.answers.map(({ question }) => question)
    assert.deepStrictEqual(
      asked.filter((question) => /worst moment|How many workers/.test(question)),
      []
    )
    const page = htmlReport(report)
    assert.notMatch(page, />0 ms<|>0<small>deliveries at once/)
    assert.include(page, "Of 1,000 requests that the service was asked about.")
    assert.match(csvReport(report), /\r\n0,0,0,,,,,100,100\r\n/)
  })

  it("tells what is lost from what breaks a rule", () => {
    const why = (lost: number, broken: number) =>
      failureOf(reportOf("in-process", "lost=0", lost, broken), measurements.summary, null)?.message
    assert.strictEqual(why(0, 3), "A rule of delivery was broken in 3 places; the summary says which")
    assert.strictEqual(why(2, 3), "2 deliveries of accepted events are not accounted for")
  })

  it("sets off when receivers are down, from the windows of their rules", () => {
    const report = reportOf("in-process")
    const [line = assert.fail("there is an integration")] = report.integration_lines
    const rules = ["down:22:00-08:00", "2=down"].map((text) => Result.getOrThrow(readReceiver(text)))
    const { down, text } = describedFor(rules, 1)
    assert.deepStrictEqual([down, text], [[{ from: 1_320, to: 480, on: null }], "down:22:00-08:00"])
    // 08:00 to 08:00 of the next day: from 22:00 on.
    const day = { ...report, interval: 86_400_000 / report.series.length, integration_lines: [{ ...line, down }] }
    assert.deepStrictEqual(bandsOf(day), [{ from: (14 / 24) * 100, to: 100 }])
  })
})

/** What a run says of how long it will take. */
const announced = (...args: ReadonlyArray<string>) => {
  const heard = Effect.gen(function* () {
    for (;;) {
      const line = (yield* TestConsole.logLines).map(String).find((text) => text.startsWith("it takes"))
      if (line !== undefined) return line
      yield* Effect.promise(setImmediate)
    }
  })
  return Effect.raceFirst(heard, Effect.as(simulate("run", ...args), "it said nothing"))
}

describe("a run that takes long", () => {
  const receiver = ["--to-receiver", "http://127.0.0.1:1/hook"]
  it.live.each([
    ["", ["--speed", "10x"], "; --speed 60x or --as-fast-as-possible is faster, --virtual takes moments"],
    [" and has that speed already", ["--speed", "60x"], "; --as-fast-as-possible is faster, --virtual takes moments"],
    [" and is faster already", ["--speed", "80x", ...receiver], "; --as-fast-as-possible is faster"],
    [" and is for a real receiver", receiver, "; --speed 60x or --as-fast-as-possible is faster"]
  ] as const)("says what would be faster%s", ([, flags, says]) =>
    Effect.gen(function* () {
      const line = yield* announced("--preset", "quiet", "--duration", "3d", ...flags)
      assert.isTrue(line.endsWith(`for what is open then${says}`), line)
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
  )
})

describe("a receiver that is not there", () => {
  it.live("is what the run says, and fails it", () =>
    Effect.gen(function* () {
      const args = ["run", "--to-receiver", "http://127.0.0.1:1/hook", "--as-fast-as-possible", "--duration", "1h"]
      const failure = yield* Effect.flip(
        simulate(...args, "--start", "2026-03-02T07:30", "--retry", "access_log=", "--retry", "call=")
      )
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.exitCode, 1)
      assert.match(
        failure.message,
        /^http:\/\/127.0.0.1:1\/hook acknowledged none of \d+ requests: connection_refused \d+\. Expected 200 within 5s/
      )
      assert.include((yield* TestConsole.logLines).join("\n"), "not acked    connection_refused")
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
  )

  const signing = ["--secret", `whsec_${"QUFB".repeat(8)}`]
  it.live.each([
    [
      "asks for the secret where it is refused",
      [401, 403],
      [],
      "it may check signatures: give its secret with --secret"
    ],
    ["asks whose secret was given", [401], signing, "it may check signatures: is the secret that was given its own?"],
    ["asks for nothing where it is not", [401, 500], signing, "is the receiver running, and is this its URL?"]
  ] as const)("tells the statuses of one that answers, and %s", ([, statuses, secret, advice]) =>
    Effect.gen(function* () {
      let nth = 0
      const answering = Layer.effect(
        Transport,
        Transport.fromPost(() =>
          Effect.sync(() => ({
            _tag: "Answered",
            status: statuses[nth++ % statuses.length] ?? 0,
            retry_after: null,
            excerpt: "",
            headers_elapsed: 1,
            elapsed: 1
          }))
        )
      )
      const args = ["run", "--to-receiver", "http://127.0.0.1:1/hook", "--as-fast-as-possible", "--duration", "1h"]
      const more = ["--start", "2026-03-02T07:30", "--retry", "access_log=", "--retry", "call=", ...secret]
      const failure = yield* Effect.flip(simulate(...args, ...more)).pipe(
        Effect.provideService(Equipment, { ...deserted, transport: answering })
      )
      assert.instanceOf(failure, CommandFailure)
      const seen = statuses.map((status, at) => `${status}: ${Math.ceil((nth - at) / statuses.length)}`).join(", ")
      assert.include(
        failure.message,
        `of ${nth} requests: bad_status ${nth} (${seen}). Expected 200 within 5s; ${advice}`
      )
      assert.include((yield* TestConsole.logLines).join("\n"), `not acked    bad_status ${nth} (${seen})`)
    }).pipe(Effect.provide(platform))
  )
})

describe("the way out to a receiver", () => {
  it.live("is open until the run is over, and closed then", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const answered = { _tag: "Answered", status: 200, retry_after: null, excerpt: "" } as const
      const transport = Layer.effect(
        Transport,
        Effect.acquireRelease(
          Transport.fromPost(() =>
            Effect.sync(() => {
              seen.push("sent")
              return { ...answered, headers_elapsed: 1, elapsed: 1 }
            })
          ),
          () => Effect.sync(() => seen.push("closed"))
        )
      )
      const args = ["run", "--to-receiver", "http://127.0.0.1:1/hook", "--as-fast-as-possible", "--duration", "1h"]
      yield* simulate(...args, "--start", "2026-03-02T07:30").pipe(
        Effect.provideService(Equipment, { ...deserted, transport })
      )
      assert.isAbove(seen.length, 2)
      assert.strictEqual(seen.indexOf("closed"), seen.length - 1)
    }).pipe(Effect.provide(platform))
  )
})

type Store = DeliveryStore["Service"]

/** A database that does some things in another way. */
const changed = (change: (store: Store) => Partial<Store>) =>
  Layer.effect(
    DeliveryStore,
    Effect.map(DeliveryStore, (store) => DeliveryStore.of({ ...store, ...change(store) }))
  ).pipe(Layer.provideMerge(MemoryStore.layer))

const full = (operation: string) => new StoreError({ operation, cause: new Error("disk is full") })

/** It takes so many publications, waiting for a disk each time, and no more. */
const filling = (room: number) =>
  changed(({ enqueue }) => {
    let left = room
    return {
      enqueue: (records, keys) =>
        Effect.flatMap(Effect.promise(setImmediate), () =>
          left-- > 0 ? enqueue(records, keys) : Effect.fail(full("DeliveryStore.enqueue"))
        )
    }
  })

const published = /could not publish an event 10 times in a row\. .*: disk is full\. .*a new --database\.$/

/** It takes all publications, but not what becomes of them. */
const forgetting = changed(() => ({ settle: () => Effect.fail(full("DeliveryStore.settle")) }))

/** Each second time it does not take what becomes of them. */
const stumbling = changed(({ settle }) => {
  let calls = 0
  return {
    settle: (settlements, now, disableAfter) =>
      Effect.suspend(() =>
        calls++ % 2 === 0 ? Effect.fail(full("DeliveryStore.settle")) : settle(settlements, now, disableAfter)
      )
  }
})

/** It can't be opened. */
const absent = Layer.effectContext(Effect.fail(full("open")))

describe("a database that fails on virtual time", () => {
  // There are 51 events.
  it.live.each([
    { sqlite: filling(20), says: published, counts: [21, 20, 1] },
    { sqlite: filling(50), says: published, counts: [51, 50, 1] },
    {
      sqlite: forgetting,
      says: /could not go on with what is under way 10 times in a row\. .*settle: disk is full\./,
      counts: [1, 1, 0]
    },
    {
      sqlite: changed(() => ({ summary: () => Effect.fail(full("DeliveryStore.summary")) })),
      says: /could not count the deliveries at the end\. .*summary: disk is full\./,
      counts: [51, 51, 0]
    }
  ])("ends the run with what was said, what to do, and a report: $counts", ({ counts, says, sqlite }) =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "report.json")
      const args = ["run", "--virtual", "--preset", "quiet", "--crash-every", "3h"]
      const failure = yield* Effect.flip(
        simulate(...args, "--database", join(folder, "full.db"), "--report", `json=${file}`)
      )
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.exitCode, 1)
      assert.match(failure.message, says)
      const { totals, verdict }: RunReport = JSON.parse(yield* Effect.promise(() => readFile(file, "utf8")))
      assert.deepStrictEqual([verdict, totals.planned, totals.accepted, totals.failed], ["fail", ...counts])
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, { ...deserted, sqlite: () => sqlite }))
  )

  it.live("is named where storage was to be measured on it", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "report.json")
      yield* simulate("run", "--virtual", "--duration", "24h", "--report", `json=${file}`)
      const { answers, storage, verdict }: RunReport = JSON.parse(yield* Effect.promise(() => readFile(file, "utf8")))
      assert.deepStrictEqual([verdict, storage], ["pass", null])
      const size = answers.find(({ question }) => /How large is the database/.test(question))
      assert.match(size?.answer ?? "", /^Not answered: it could not be measured in the folder for .*: disk is full\./)
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, { ...deserted, sqlite: () => absent }))
  )

  it.live("ends no run as long as that passes", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [file, report] = [join(folder, "flaky.db"), join(folder, "report.json")]
      yield* simulate("run", "--virtual", "--preset", "quiet", "--database", file, "--report", `json=${report}`)
      assert.match((yield* TestConsole.logLines).join("\n"), /^delivered +56$/m)
      // A file that exists is refused, so the command that runs it again has none.
      const { command }: RunReport = JSON.parse(yield* Effect.promise(() => readFile(report, "utf8")))
      assert.strictEqual(
        command,
        "npx doorhook simulate run --virtual --preset quiet --seed 1 --start 2026-03-02T00:00 --duration 24h"
      )
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, { ...deserted, sqlite: () => stumbling }))
  )
})

describe("a run on virtual time that is told to stop", () => {
  it.live("says how it went so far, and writes the report", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "report.json")
      const args = ["run", "--virtual", "--duration", "1000d", "--preset", "quiet", "--report", `json=${file}`]
      const running = yield* Effect.forkChild(simulate(...args))
      const lines = TestConsole.logLines
      yield* Effect.repeat(Effect.yieldNow, { until: () => Effect.map(lines, ({ length }) => length > 0) })
      // It has begun; after so many turns of others, events were published.
      for (let turn = 0; turn < 50; turn++) yield* Effect.promise(setImmediate)
      yield* Fiber.interrupt(running)
      assert.match((yield* lines).join("\n"), /^planned +[\d,]+ events\naccepted[^]*^report +/m)
      const { interrupted, totals }: RunReport = JSON.parse(yield* Effect.promise(() => readFile(file, "utf8")))
      assert.isTrue(interrupted)
      assert.isAbove(totals.accepted, 0)
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
  )
})

describe("a run over several time zones", () => {
  /** Four hours that begin six hours later in the west. */
  const inTwoZones = Effect.fnUntraced(function* (folder: string) {
    const scenario = join(folder, "scenario.json")
    const homes = { flats: 100 }
    const buildings = [
      { name: "East", id: 1, homes, time_zone: "Europe/Berlin" },
      { name: "West", id: 1_001, homes, time_zone: "America/New_York" }
    ]
    yield* Effect.promise(() => writeFile(scenario, JSON.stringify({ name: "two", buildings })))
    return ["--scenario", scenario, "--start", "2026-03-02T06:00", "--duration", "4h"]
  })

  it.live("says how long it takes until it has ended in all of them", () =>
    Effect.gen(function* () {
      const line = yield* announced(...(yield* inTwoZones(yield* temporaryFolder)), "--speed", "60x")
      assert.match(line, /^it takes 10 min, /)
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
  )

  it.live("on virtual time lets what is open go on after the plan has ended in all of them", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "report.json")
      const args = [...(yield* inTwoZones(folder)), "--report", `json=${file}`]
      yield* simulate("run", "--virtual", ...args, "--drain", "5m")
      const { totals }: RunReport = JSON.parse(yield* Effect.promise(() => readFile(file, "utf8")))
      assert.isAbove(totals.accepted, 50)
      assert.deepStrictEqual([totals.unanswered, totals.open], [0, 0])
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
  )
})

describe("several seeds", () => {
  it.live("are each judged by the objectives; those that miss them are named, with how to run them again", () =>
    Effect.gen(function* () {
      const args = ["run", "--virtual", "--preset", "quiet", "--receiver", "flaky:0.02", "--seeds", "4"]
      const failure = yield* Effect.flip(simulate(...args, "--slo", "delivery_max<1s"))
      assert.instanceOf(failure, CommandFailure)
      const again = "npx doorhook simulate run --virtual --preset quiet --seed 3 "
      assert.match(failure.message, /^Objectives missed by seed 3: delivery_max<1s \(\d+.*\)\. Again: /)
      assert.include(failure.message, again)
      const text = (yield* TestConsole.logLines).join("\n")
      assert.include(text, "seeds        4 run, failed: 3, 4")
      assert.match(text, /^MISSED +delivery_max<1s .*\nagain +npx .* --seed 3 .*\n(?:.*\n)+again +npx .* --seed 4 /m)
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
  )
})

describe("several seeds that are told to stop", () => {
  it.live("name those that have failed", () =>
    Effect.gen(function* () {
      const args = ["run", "--virtual", "--preset", "quiet", "--receiver", "flaky:0.02", "--seeds", "100000"]
      const running = yield* Effect.forkChild(simulate(...args, "--slo", "delivery_max<1s"))
      const text = Effect.map(TestConsole.logLines, (lines) => lines.join("\n"))
      yield* Effect.repeat(Effect.promise(setImmediate), {
        until: () => Effect.map(text, (said) => /^again .* --seed 3 /m.test(said))
      })
      yield* Fiber.interrupt(running)
      assert.match(yield* text, /^seeds +\d+ of 100000 run to their end, failed: 3\b/m)
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
  )
})

describe("a modelled receiver that a run does not meet as a whole", () => {
  const quiet = ["run", "--virtual", "--preset", "quiet"]
  const morning = [...quiet, "--start", "2026-03-02T07:00", "--duration", "4h"]
  const inProcess = ["run", "--preset", "quiet", "--duration", "1h"]
  it.live.each([
    { args: [...quiet, "--receiver", "2-9=flaky:0.1"], notes: ["2-9=flaky:0.1: not all of these exist; there are 3"] },
    { args: [...quiet, "--receiver", "down:22:00-06:00,on=2026-03-02"], notes: ["met in part only"] },
    { args: [...morning, "--receiver", "down:09:00-15:00"], notes: ["from 2026-03-02T07:00 to 2026-03-02T11:00"] },
    { args: [...morning, "--receiver", "down:12:00-15:00"], notes: ["met by retries only"] },
    { args: [...morning, "--receiver", "gone:after=6h"], notes: ["met by retries only"] },
    {
      args: [...inProcess, "--as-fast-as-possible", "--receiver", "gone:after=30m"],
      notes: ["met only by a run that takes so long: with --as-fast-as-possible, clocks begin at 2026-03-02T00:00"]
    },
    // Met as a whole: nothing to say.
    { args: [...morning, "--receiver", "down:09:00-10:00", "--receiver", "gone:after=3h"], notes: [] },
    { args: [...morning, "--receiver", "down", "--receiver", "3=down:00:00-24:00"], notes: [] },
    { args: [...quiet, "--receiver", "down:22:00-06:00"], notes: [] },
    { args: [...quiet, "--buildings", "4", "--receiver", "10%=gone"], notes: [] },
    { args: [...inProcess, "--as-fast-as-possible", "--receiver", "down:00:00-01:00"], notes: [] }
  ])("is said before the run: $args", ({ args, notes }) =>
    Effect.gen(function* () {
      yield* simulate(...args)
      const lines = (yield* TestConsole.logLines).map(String)
      const said = lines.slice(
        0,
        lines.findIndex((line) => !line.startsWith("Note: "))
      )
      assert.strictEqual(said.length, notes.length, said.join("\n"))
      for (const [nth, note] of notes.entries()) assert.include(said[nth], note)
    }).pipe(Effect.provide(platform))
  )
})

describe("wrong usage of simulate run", () => {
  const virtual = ["run", "--virtual"]
  const quiet = [...virtual, "--preset", "quiet"]
  const toService = ["run", "--to", "http://127.0.0.1:1", "--operator-key", "k"]
  it.effect.each([
    { args: [...virtual, "--receiver", "fast"], says: "slow:p50=2s,p99=9s" },
    {
      args: [...quiet, "--receiver", "4=down"],
      says: "--receiver 4=down: it is no integration's; there are 3 integrations: 1 = Mill Lane; 2 = Mill Lane, tenant"
    },
    { args: [...quiet, "--buildings", "20", "--receiver", "61=flaky:0.1"], says: "10 = Mill Lane 4; and 50 more" },
    { args: [...quiet, "--receiver", "10%=down"], says: "it is no integration's" },
    {
      args: [...quiet, "--building-integrations", "0", "--tenant-integrations", "0", "--receiver", "down"],
      says: "the run has no integrations"
    },
    {
      args: [...quiet, "--receiver", "down:09:00-15:00,on=2026-03-01"],
      says: "the run does not come to that time: by its clock, the plan is from 2026-03-02T00:00 to 2026-03-03T00:00"
    },
    { args: [...quiet, "--drain", "1h", "--receiver", "down:09:00-15:00,on=2026-03-03"], says: "may go on for 1h" },
    { args: [...quiet, "--receiver", "gone:after=10d"], says: "does not come to that time" },
    {
      args: ["run", "--preset", "quiet", "--speed", "60x", "--duration", "1h", "--receiver", "down:09:00-15:00"],
      says: "does not come to that time"
    },
    { args: [...virtual, "--slo", "ack<5s"], says: "there is no metric ack" },
    { args: [...virtual, "--report", "pdf=x"], says: "expected html=FILE, json=FILE or csv=FILE" },
    { args: [...virtual, "--report", "json=/no/such/folder/r.json"], says: "/no/such/folder: there is no such file" },
    { args: [...virtual, "--report", "html=/"], says: "it is a folder" },
    { args: [...virtual, "--duration", "0s"], says: "--duration 0s: expected a duration like" },
    { args: [...virtual, "--duration=-1d"], says: "above 0 and at most 3650d" },
    { args: [...virtual, "--retry", "calls=5s"], says: "call, access_log" },
    { args: [...virtual, "--retry", "access_log=soon"], says: "--retry soon: expected a duration" },
    {
      args: [...virtual, "--retry", "call=1m"],
      says: "--retry call=1m: delay 1 must be less than the lifetime of 45s, not 1m: nothing would be retried"
    },
    { args: [...virtual, "--ack-timeout", "2h"], says: "--ack-timeout 2h: expected a duration like" },
    { args: ["run", "--ack-timeout", "2h"], says: "above 0 and at most 1h" },
    { args: [...virtual, "--report", "json=x,csv=./x"], says: "--report csv=./x: expected another file than that of" },
    { args: [...virtual, "--ack-timeout", "0s"], says: "above 0" },
    { args: [...virtual, "--crash-every", "1ms"], says: "--crash-every 1ms: expected a duration like" },
    { args: [...virtual, "--delete-every", "999ms"], says: "at least 1s" },
    { args: [...virtual, "--speed", "60x"], says: "--virtual runs as fast as it computes" },
    { args: [...virtual, "--to", "http://127.0.0.1:1"], says: "exclude each other" },
    { args: [...virtual, "--dup-rate", "2"], says: "a share from 0 to 1" },
    { args: [...virtual, "--buildings", "1000"], says: "--buildings 1000: expected a whole number from 1 to 512" },
    { args: [...virtual, "--database", "x.db"], says: "only memory is accepted" },
    { args: [...virtual, "--database", "x.db", "--seeds", "2"], says: "a file of its own" },
    { args: [...virtual, "--grace", "3s"], says: "--drain says how long" },
    { args: [...virtual, "--max-inflight", "2"], says: "--max-inflight is of runs in real time" },
    { args: ["run", "--drain", "1h"], says: "--drain needs --virtual" },
    { args: ["run", "--crash-every", "6h"], says: "--crash-every needs --virtual" },
    { args: ["run", "--to-receiver", "nowhere"], says: "the URL of a receiver" },
    { args: ["run", "--to-receiver", "http://127.0.0.1:1/?..."], says: "Write the query itself" },
    { args: ["run", "--to-receiver", "http://127.0.0.1:1/", "--receiver", "gone"], says: "models receivers" },
    { args: ["run", "--to-receiver", "http://127.0.0.1:1/"], says: "no way out to the network" },
    { args: [...toService, "--retry", "call="], says: "--retry is a setting of the service" },
    { args: [...toService, "--ack-timeout", "2s"], says: "--ack-timeout is a setting of the service" },
    { args: [...toService, "--tenant-integrations", "0"], says: "--tenant-integrations makes integrations" },
    { args: [...toService, "--building-integrations", "2"], says: "--building-integrations makes integrations" }
  ])("$args is answered with what is accepted", ({ args, says }) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(simulate(...args))
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.exitCode, CommandFailure.usageExitCode)
      assert.include(failure.message, says)
      assert.notInclude(failure.message, "\n")
    }).pipe(Effect.provide(platform))
  )
})
