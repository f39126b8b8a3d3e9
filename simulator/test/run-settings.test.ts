/** The settings of `simulate run`: receivers, grace, seeds, and the errors for wrong usage. */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { CommandFailure, Crypto, Transport } from "@doorhook/core"
import { Equipment, simulateCommand } from "@doorhook/simulator"
import { temporaryFolder } from "@doorhook/testkit/Process"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { TestConsole } from "effect/testing"
import { Rng, root } from "../src/random/Substream.ts"
import { Receiver } from "../src/receivers/Receiver.ts"
import {
  describedFor,
  modelFor,
  readReceiver,
  receiverForms,
  receiversOf,
  rulesFor
} from "../src/receivers/ReceiverText.ts"
import { Histogram } from "../src/results/Histogram.ts"
import type { RunReport } from "../src/results/RunReport.ts"
import { parseDay } from "../src/world/CalendarDate.ts"

const platform = Layer.mergeAll(NodePlatform.layer, FetchHttpClient.layer, TestConsole.layer)
const simulate = (...args: ReadonlyArray<string>) => Command.runWith(simulateCommand, { version: "0" })(args)

/** Counts the outcomes of many requests to a receiver, all at the same minute of a day. */
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
      local: { minute, day: parseDay(date) ?? 0 }
    })
    const name = `${result._tag === "Answered" ? result.status : result.outcome}${processed ? "" : " unprocessed"}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
    times.add(result.elapsed)
  }
  return { counts, times, share: (name: string) => (counts.get(name) ?? 0) / 4_000 }
}

describe("modelled receivers", () => {
  it("have the given latency, and process events even if the answer is late", () => {
    const { share, times } = answersOf(["slow:p50=2s,p99=9s"])
    assert.approximately(times.quantile(0.5), 2_000, 150)
    // The spread of the logarithm is ln 4.5 / 2.326, so 7.8 % of the times are above 5 s.
    assert.approximately(share("timeout"), 0.078, 0.02)
    assert.approximately(share("200"), 0.922, 0.02)
  })

  it("fail as often as stated, alone and together", () => {
    assert.approximately(answersOf(["duplicate-ack-lost:10%"]).share("connection_reset"), 0.1, 0.02)
    assert.approximately(answersOf(["late:0.2"]).share("timeout"), 0.2, 0.02)
    const { share } = answersOf(["flaky:0.3", "late:0.5"])
    assert.approximately(share("200"), 0.35, 0.03)
    assert.approximately(share("500 unprocessed") + share("502 unprocessed"), 0.21, 0.03)
    assert.approximately(share("connection_reset unprocessed"), 0.09, 0.02)
  })

  it("are down by the clock, across midnight, and on a single day", () => {
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

  it("limit the rate with a Retry-After, and are gone from a given time", () => {
    // Of 4,000 requests in 400 s, three are accepted each second.
    assert.approximately(answersOf(["rate-limited:3/s"]).share("200"), 0.3, 0.01)
    assert.strictEqual(answersOf(["gone:after=2h"], 600, "2026-03-03", 7_199_999).share("200"), 1)
    assert.strictEqual(answersOf(["gone:after=2h"], 600, "2026-03-03", 7_200_000).share("410 unprocessed"), 1)
  })

  it("apply to one, some or all integrations, and are described by their rules", () => {
    const rules = ["3=gone", "2-4=down:22:00-08:00", "flaky:0.1"].map((text) => Result.getOrThrow(readReceiver(text)))
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5].map((place) => rulesFor(rules, place).length),
      [1, 2, 3, 2, 1]
    )
    assert.deepStrictEqual(describedFor(rules, 2), {
      text: "2-4=down:22:00-08:00 flaky:0.1",
      down: [{ from: 1_320, to: 480, on: null, swallows: false }]
    })
  })

  /** Returns the outcomes and durations of requests at these times. */
  const served = (texts: ReadonlyArray<string>, times: ReadonlyArray<number>, deadline = 60_000) => {
    const rules = texts.map((text) => Result.getOrThrow(readReceiver(text)))
    const receiver = new Receiver(modelFor(rules, 1), new Rng(root(7)))
    return times.map((now) => {
      const minute = Math.floor(now / 60_000)
      const { processed, result } = receiver.receive({
        now,
        sinceStart: now,
        deadline,
        local: { minute, day: 20_515 }
      })
      return [result._tag === "Answered" ? result.status : result.outcome, processed ? result.elapsed : null] as const
    })
  }
  const constant = "slow:p50=1s,p99=1s"

  it("can be one endpoint for all integrations, whose workers they share", () => {
    const rules = [constant, "shared,workers:1,queue:1"].map((text) => Result.getOrThrow(readReceiver(text)))
    const receiverOf = receiversOf(rules, () => new Rng(root(7)))
    const request = { now: 0, sinceStart: 0, deadline: 60_000, local: { minute: 0, day: 20_515 } }
    const answers = [1, 2, 3].map((place) => receiverOf(place, `${place}`).receive(request).result)
    assert.deepStrictEqual(
      answers.map((result) => [result._tag === "Answered" ? result.status : 0, result.elapsed]),
      [
        [200, 1_000],
        [200, 2_000],
        [503, 20]
      ]
    )
    const own = receiversOf([rules[0] ?? assert.fail("one")], () => new Rng(root(7)))
    assert.notStrictEqual(own(1, "1"), own(2, "2"))
    assert.strictEqual(Result.getOrThrow(readReceiver("2-3=shared,slow:p50=1s")).isShared, true)
    assert.isTrue(Result.isFailure(readReceiver("shared,wrong")))
    const both = readReceiver("shared,workers:4,queue:10,slow:p50=1s,p99=2s")
    assert.match(Result.isFailure(both) ? both.failure : "", /give the flag several times to combine behaviours$/)
  })

  it("can swallow requests until the timeout, always or at hours", () => {
    assert.deepStrictEqual(served(["down:swallow"], [0], 5_000), [["timeout", null]])
    assert.deepStrictEqual(served([constant, "down:01:00-02:00,swallow"], [0, 3_600_000], 5_000), [
      [200, 1_000],
      ["timeout", null]
    ])
  })

  it("work on one request per worker, queue the rest, and refuse what does not fit", () => {
    assert.deepStrictEqual(served([constant, "workers:2,queue:3"], [0, 0, 0, 100, 100, 100, 1_000, 1_000, 9_000]), [
      [200, 1_000],
      [200, 1_000],
      [200, 2_000],
      [200, 1_900],
      [200, 2_900],
      [503, null],
      [200, 2_000],
      [200, 3_000],
      [200, 1_000]
    ])
    // First without a queue, then with a request that is processed although its sender no longer waits.
    assert.deepStrictEqual(served([constant, "workers:1,queue:0"], [0, 10, 1_000]), [
      [200, 1_000],
      [503, null],
      [200, 1_000]
    ])
    assert.deepStrictEqual(served([constant, "workers:1"], [0, 0, 0], 2_500), [
      [200, 1_000],
      [200, 2_000],
      ["timeout", 2_500]
    ])
  })

  it("with recovery are slow at first after an outage", () => {
    const texts = [constant, "workers:9,recovery:10m", "down:00:00-00:10"]
    const times = [9.9, 10, 15, 19.9, 30].map((minutes) => minutes * 60_000)
    assert.deepStrictEqual(served(texts, times), [
      ["connection_refused", null],
      [200, 4_960],
      [200, 2_960],
      [200, 1_000],
      [200, 1_000]
    ])
  })

  it("are read in all documented forms, and other texts are refused with what is accepted", () => {
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
      "workers",
      "workers:0",
      "workers:x",
      "workers:4,queue:x",
      "workers:4,room:3",
      "10%=gone",
      "0=gone",
      "4-2=gone",
      "constructor"
    ]
    for (const text of [...nonsense, ...more, "down:09:00-15:00,on=2026-02-30"]) {
      const read = readReceiver(text)
      assert.isTrue(Result.isFailure(read), text)
      if (Result.isFailure(read)) assert.include(read.failure, "slow:p50=2s,p99=9s / workers")
    }
  })
})

/** A network in which no address answers. */
const deserted = {
  transport: Layer.effect(
    Transport,
    Transport.fromPost(() =>
      Effect.succeed({ _tag: "Failed", outcome: "connection_refused", detail: "nobody", elapsed: 1 })
    )
  ),
  crypto: Crypto.layerWebCrypto
}

describe("a run whose wait ends with open deliveries", () => {
  it.live("reports them as open, not as lost", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "report.json")
      const args = ["run", "--as-fast-as-possible", "--duration", "30m", "--start", "2026-03-03T08:00"]
      const more = ["--receiver", "slow:p50=700ms,p99=800ms", "--grace", "20ms", "--slo", "service_p99<0s,lost=0"]
      const failure = yield* Effect.flip(simulate(...args, ...more, "--report", `json=${file}`))
      assert.instanceOf(failure, CommandFailure)
      assert.match(failure.message, /^Objectives missed: service_p99<0s \(.*\)$/)
      const said = (yield* TestConsole.logLines).join("\n")
      assert.match(said, /\nopen +\d+ when the wait ended \(limited by --grace\)/)
      assert.match(said, /\nmet +lost=0 \(0\)/)
      assert.match(said, /\nsent +in \d+ ms, [\d,]+ events\/s\ntook +[\d.]+ s$/m)
      assert.notMatch(said, /\n(broken|late|rate|intended) /)
      assert.include(yield* Effect.promise(() => readFile(file, "utf8")), "--grace 20ms")
    }).pipe(Effect.provide(platform))
  )
})

/** Returns the line in which a run announces its length. */
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

describe("a long run", () => {
  const receiver = ["--to-receiver", "http://127.0.0.1:1/hook"]
  it.live.each([
    ["", ["--speed", "10x"], "; --speed 60x or --as-fast-as-possible is faster, --virtual takes moments"],
    [" and has that speed already", ["--speed", "60x"], "; --as-fast-as-possible is faster, --virtual takes moments"],
    [" and is faster already", ["--speed", "80x", ...receiver], "; --as-fast-as-possible is faster"],
    [" and is for a real receiver", receiver, "; --speed 60x or --as-fast-as-possible is faster"]
  ] as const)("suggests what is faster%s", ([, flags, says]) =>
    Effect.gen(function* () {
      const line = yield* announced("--preset", "quiet", "--duration", "3d", ...flags)
      assert.isTrue(line.endsWith(`more for open deliveries${says}`), line)
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
  )
})

describe("a receiver that can't be reached", () => {
  it.live("is named by the run and fails it", () =>
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
    ["asks for the secret after a refusal", [401, 403], [], "it might check signatures: give its secret with --secret"],
    ["asks whether the given secret is right", [401], signing, "it might check signatures: is the given secret right?"],
    ["does not ask for it otherwise", [401, 500], signing, "is the receiver running, and is this its URL?"]
  ] as const)("lists the statuses of a receiver that answers, and %s", ([, statuses, secret, advice]) =>
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

describe("the transport to a receiver", () => {
  it.live("is open until the run is over, then closed", () =>
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

describe("an interrupted run on virtual time", () => {
  it.live("prints a summary and writes the report", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "report.json")
      const args = ["run", "--virtual", "--duration", "1000d", "--preset", "quiet", "--report", `json=${file}`]
      const running = yield* Effect.forkChild(simulate(...args))
      const lines = TestConsole.logLines
      yield* Effect.repeat(Effect.yieldNow, { until: () => Effect.map(lines, ({ length }) => length > 0) })
      // The run has begun. After some turns of other fibers, it has published events.
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
  /**
   * Returns arguments for a run of four hours over two buildings. In the western building, the plan begins six hours
   * later.
   */
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

  it.live("says how long it takes until all of them have ended", () =>
    Effect.gen(function* () {
      const line = yield* announced(...(yield* inTwoZones(yield* temporaryFolder)), "--speed", "60x")
      assert.match(line, /^it takes 10 min, /)
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
  )

  it.live("continues open deliveries after the plan has ended in all of them, on virtual time", () =>
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
  it.live("are each judged by the objectives, and failing ones are named with their command", () =>
    Effect.gen(function* () {
      const args = ["run", "--virtual", "--preset", "quiet", "--receiver", "flaky:0.02", "--seeds", "4"]
      const failure = yield* Effect.flip(simulate(...args, "--slo", "delivery_max<1s"))
      assert.instanceOf(failure, CommandFailure)
      const again = "npx doorhook simulate run --virtual --preset quiet --seed 3 "
      assert.match(failure.message, /^Objectives missed by seed 3: delivery_max<1s \(\d+.*\)\. To repeat: /)
      assert.include(failure.message, again)
      const text = (yield* TestConsole.logLines).join("\n")
      assert.include(text, "seeds        4 completed, failed: 3, 4")
      assert.match(text, /^MISSED +delivery_max<1s .*\nagain +npx .* --seed 3 .*\n(?:.*\n)+again +npx .* --seed 4 /m)
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
  )
})

describe("several interrupted seeds", () => {
  it.live("name the failed ones", () =>
    Effect.gen(function* () {
      const args = ["run", "--virtual", "--preset", "quiet", "--receiver", "flaky:0.02", "--seeds", "100000"]
      const running = yield* Effect.forkChild(simulate(...args, "--slo", "delivery_max<1s"))
      const text = Effect.map(TestConsole.logLines, (lines) => lines.join("\n"))
      yield* Effect.repeat(Effect.promise(setImmediate), {
        until: () => Effect.map(text, (said) => /^again .* --seed 3 /m.test(said))
      })
      yield* Fiber.interrupt(running)
      assert.match(yield* text, /^seeds +\d+ of 100000 completed, failed: 3\b/m)
    }).pipe(Effect.provide(platform), Effect.provideService(Equipment, deserted))
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
      says: "--receiver 4=down: no such integration; there are 3 integrations: 1 = Mill Lane; 2 = Mill Lane, tenant"
    },
    { args: [...quiet, "--buildings", "20", "--receiver", "61=flaky:0.1"], says: "; and 50 more" },
    {
      args: [...quiet, "--building-integrations", "0", "--tenant-integrations", "0", "--receiver", "down"],
      says: "the run has no integrations"
    },
    {
      args: [...quiet, "--receiver", "down:09:00-15:00,on=2026-03-01"],
      says: "that time is outside the run, which lasts from 2026-03-01T23:00 to 2026-03-06T23:00 UTC"
    },
    {
      args: [...quiet, "--drain", "1h", "--receiver", "down:09:00-15:00,on=2026-03-03"],
      says: "that time is outside the run"
    },
    { args: [...quiet, "--receiver", "gone:after=10d"], says: "that time is outside the run" },
    {
      args: ["run", "--preset", "quiet", "--speed", "60x", "--duration", "1h", "--receiver", "down:09:00-15:00"],
      says: "that time is outside the run"
    },
    { args: [...virtual, "--slo", "ack<5s"], says: "unknown metric ack" },
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
    { args: [...virtual, "--report", "json=x,csv=./x"], says: "--report csv=./x: must not be the same file as" },
    { args: [...virtual, "--ack-timeout", "0s"], says: "above 0" },
    { args: [...virtual, "--crash-every", "1ms"], says: "--crash-every 1ms: expected a duration like" },
    { args: [...virtual, "--delete-every", "999ms"], says: "at least 1s" },
    { args: [...virtual, "--speed", "60x"], says: "--virtual runs as fast as possible" },
    { args: [...virtual, "--batch", "2"], says: "--batch applies to runs in real time" },
    { args: ["run", "--batch", "0"], says: "a whole number from 1 to 1000" },
    { args: ["run", "--rate", "50"], says: "--rate 50: expected a rate like 50/s" },
    { args: ["run", "--rate", "0/s"], says: "above 0" },
    { args: ["run", "--stages", "10/s"], says: "--stages 10/s: expected stages like 10/s:1m,10/s..200/s:5m" },
    { args: ["run", "--rate", "5/s", "--stages", "5/s:1m"], says: "--rate and --stages can't be used together" },
    { args: ["run", "--stages", "5/s:1m", "--duration", "1m"], says: "each stage has its own length" },
    { args: ["run", "--rate", "5/s", "--speed", "60x"], says: "--speed can't be combined with --rate" },
    {
      args: ["run", "--rate", "5/s", "--as-fast-as-possible"],
      says: "--as-fast-as-possible can't be combined with --rate"
    },
    { args: ["run", "--even"], says: "--even needs --rate or --stages" },
    { args: ["run", "--generator", "3/2"], says: "NUMBER/GENERATORS, like 1/3" },
    { args: ["run", "--events", "x.ndjson", "--preset", "quiet"], says: "--preset applies to a plan" },
    { args: ["run", "--events", "x.ndjson", "--start", "2026-03-03"], says: "--start applies to a plan" },
    { args: ["run", "--warm-up", "24h"], says: "less than the length of the run" },
    { args: ["run", "--stop-on-miss"], says: "--stop-on-miss needs at least one --slo" },
    { args: ["run", "--metrics", "0"], says: "a port from 1 to 65535, or an address" },
    { args: [...virtual, "--slo", "rate>=99%"], says: "--slo rate>=99%: this run can't measure it: on virtual time" },
    { args: ["run", "--as-fast-as-possible", "--slo", "late_p99<1s"], says: "has no schedule" },
    { args: ["run", "--to-receiver", "http://127.0.0.1:1/", "--slo", "duplicates=0"], says: "only the receiver knows" },
    { args: [...toService, "--slo", "backlog<9"], says: "only the service can measure this" },
    { args: [...toService, "--receiver", "prompt"], says: "models receivers" },
    { args: [...virtual, "--to", "http://127.0.0.1:1"], says: "can't be used together" },
    {
      args: [...virtual, "--buildings", "131073"],
      says: "--buildings 131073: expected a whole number from 1 to 131072"
    },
    { args: [...virtual, "--grace", "3s"], says: "with --virtual, use --drain" },
    { args: ["run", "--drain", "1h"], says: "--drain needs --virtual" },
    { args: ["run", "--to-receiver", "nowhere"], says: "the URL of a receiver" },
    { args: ["run", "--to-receiver", "http://127.0.0.1:1/?..."], says: "Write the query itself" },
    { args: ["run", "--to-receiver", "http://127.0.0.1:1/", "--receiver", "gone"], says: "models receivers" },
    { args: ["run", "--to-receiver", "http://127.0.0.1:1/"], says: "no network transport" },
    { args: [...toService, "--retry", "call="], says: "--retry is a setting of the service" },
    { args: [...toService, "--tenant-integrations", "0"], says: "--tenant-integrations adds integrations" }
  ])("$args is refused with what is accepted", ({ args, says }) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(simulate(...args))
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.exitCode, CommandFailure.usageExitCode)
      assert.include(failure.message, says)
      assert.notInclude(failure.message, "\n")
    }).pipe(Effect.provide(platform))
  )
})
