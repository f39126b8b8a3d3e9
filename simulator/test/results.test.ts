/** Results of runs: series, objectives, reports, and merged reports of several generators. */
import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import { metricsText } from "../src/cli/LiveMetrics.ts"
import { failureOf } from "../src/cli/RunEnd.ts"
import { describedFor, readReceiver } from "../src/receivers/ReceiverText.ts"
import { bandsOf, timeMarks, timesOf } from "../src/report/Chart.ts"
import { csvReport, htmlReport } from "../src/report/HtmlReport.ts"
import { Histogram } from "../src/results/Histogram.ts"
import type { IntegrationTotals } from "../src/results/Measurements.ts"
import { Measurements } from "../src/results/Measurements.ts"
import type { RunResult, RunReport } from "../src/results/RunReport.ts"
import { makeReport, mergedMeasurements, readReport } from "../src/results/RunReport.ts"
import type { RunKind } from "../src/results/Figures.ts"
import { figuresOf } from "../src/results/Figures.ts"
import { outagesText, progressLine, summaryText } from "../src/results/RunText.ts"
import { Series } from "../src/results/Series.ts"
import { isMissedAlready, judgeSlo, readSlos, unmeasurable } from "../src/results/Slo.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const slosOf = (text: string) => Result.getOrThrow(readSlos(text))

interface Wishes extends Partial<Omit<RunResult, "facts" | "measurements" | "slos">> {
  readonly facts?: Partial<RunReport>
  readonly slos?: string
}

/** Returns a report with these measurements, for a run of one hour that begins at 8:00. */
const reportOf = (measurements: Measurements, { facts = {}, slos, ...more }: Wishes = {}): RunReport =>
  makeReport({
    facts: {
      kind: "in-process",
      target: "against it",
      scenario: "quiet",
      description: "Quiet",
      seed: 1,
      start: "2026-03-03T08:00",
      time_zone: "Europe/Berlin",
      duration: hour,
      buildings: 1,
      integrations: 1,
      speed: 1,
      ack_timeout: 5_000,
      retry: { access_log: [] },
      warm_up: 0,
      max_in_flight: 1_000,
      generator: null,
      command: "npx doorhook simulate run",
      began_at: "2026-03-03T07:00:00.000Z",
      ...facts
    },
    measurements,
    slos: slos === undefined ? [] : slosOf(slos),
    lost: 0,
    broken: 0,
    violations: [],
    crashes: 0,
    took: minute,
    sending: minute,
    interrupted: false,
    stopped_by: null,
    failed: false,
    ...more
  })

const measured = (measure: (measurements: Measurements) => void, warmUp = 0): Measurements => {
  const measurements = new Measurements(warmUp)
  measure(measurements)
  return measurements
}

describe("a histogram", () => {
  it("can be read back from its text, and merges with others", () => {
    const one = new Histogram()
    const other = new Histogram()
    const both = new Histogram()
    for (let nth = 0; nth < 5_000; nth++) {
      const value = (nth * nth) % 70_001
      for (const histogram of [nth % 2 === 0 ? one : other, both]) histogram.add(value)
    }
    const read = Histogram.fromText(one.toText()) ?? assert.fail("it is one")
    assert.strictEqual(read.toText(), one.toText())
    read.merge(Histogram.fromText(other.toText()) ?? assert.fail("it is one"))
    assert.strictEqual(read.toText(), both.toText())
    assert.strictEqual(read.quantile(0.99), both.quantile(0.99))
    for (const text of ["", "1", "x 1", "1 2 3", "1 2 3:x"]) assert.isNull(Histogram.fromText(text), text)
  })
})

describe("a series", () => {
  it("shows the busiest minute of a run of any length, as longer intervals keep the peaks", () => {
    const peaksOf = (length: number) => {
      const series = new Series()
      // 300 requests within one minute of the first hour.
      for (let nth = 0; nth < 300; nth++) series.countPeak(31 * minute + nth * 100, "requests")
      for (let at = hour; at < length; at += 10 * minute) series.countPeak(at, "requests")
      series.at(length)
      return [Math.max(...series.intervals.map(({ peak_requests }) => peak_requests)), series.width] as const
    }
    const days = [1, 30, 365].map((count) => peaksOf(count * day))
    assert.deepStrictEqual(
      days.map(([peak]) => peak),
      [300, 300, 300]
    )
    assert.isTrue(days.every(([, width], at) => at === 0 || width > (days[at - 1]?.[1] ?? 0)))
  })

  it("keeps counts and histograms when its intervals get longer", () => {
    const series = new Series()
    for (let nth = 0; nth < 1_000; nth++) {
      series.count(nth * 10_000, "sent")
      series.at(nth * 10_000).publish.add(nth)
    }
    assert.isAtMost(series.intervals.length, 160)
    assert.strictEqual(
      series.intervals.reduce((sum, { sent }) => sum + sent, 0),
      1_000
    )
    assert.strictEqual(
      series.intervals.reduce((sum, { publish }) => sum + publish.count, 0),
      1_000
    )
  })
})

describe("objectives", () => {
  it("are read with spaces, percentages and alternative names", () => {
    assert.deepStrictEqual(
      slosOf("ack_p99<5s, loss=0,rate>=95% ,delivery_p99.9<=1h,backlog<500").map(({ operator, value }) => [
        operator,
        value
      ]),
      [
        ["<", 5_000],
        ["=", 0],
        [">=", 0.95],
        ["<=", hour],
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
  ])("%j is refused with what is accepted", (text) => {
    const read = readSlos(text)
    assert.isTrue(Result.isFailure(read))
    if (Result.isFailure(read)) assert.match(read.failure, /METRIC OPERATOR VALUE|is compared with/)
  })

  it("are measured only by some kinds of runs", () => {
    const kinds: ReadonlyArray<RunKind> = ["virtual", "in-process", "receiver", "service"]
    const measuring = (text: string, hasSchedule = true) =>
      kinds.filter((kind) => slosOf(text).every((slo) => unmeasurable(slo, kind, hasSchedule) === null))
    assert.deepStrictEqual(measuring("rate>=95%"), ["in-process", "receiver", "service"])
    assert.deepStrictEqual(measuring("intended_p99<1s"), ["in-process", "receiver", "service"])
    assert.deepStrictEqual(measuring("intended_p99<1s", false), [])
    assert.deepStrictEqual(measuring("service_p99<1s", false), ["in-process", "receiver", "service"])
    assert.deepStrictEqual(measuring("duplicates=0"), ["virtual", "in-process"])
    assert.deepStrictEqual(measuring("backlog<5,broken=0"), ["virtual", "in-process", "receiver"])
    assert.deepStrictEqual(measuring("ack_p99<5s,delivery_max<1h,lost=0,failed=0,delivered>=99%"), kinds)
  })

  it("can be limited to a resource type", () => {
    const own = measured((measurements) => {
      const house = measurements.integration(1, "House")
      measurements.settle(0, house, "delivered", 1, 2_000, "call")
      measurements.settle(0, house, "expired", 1, 2_000, "call")
      measurements.settle(0, house, "delivered", 1, 10, "access_log")
    })
    const figures = figuresOf(own, "in-process", { lost: 0, broken: 0 })
    const judge = (text: string) => slosOf(text).map((slo) => judgeSlo(figures, slo).met)
    assert.deepStrictEqual(judge("call.delivery_p99<1s,access_log.delivery_p99<1s,delivery_p50<1s"), [
      false,
      true,
      true
    ])
    assert.deepStrictEqual(judge("call.expired=0,access_log.expired=0,call.delivered>=50%"), [false, true, true])
    assert.deepStrictEqual(judge("call.delivery_p99.9<3s,call.delivered>=60%"), [true, false])
    for (const text of ["call.lost=0", "call.rate>=1%", "call.nothing<1s"])
      assert.isTrue(Result.isFailure(readSlos(text)), text)
    const [typed] = slosOf("call.delivery_p99<1s")
    assert.match(typed === undefined ? "" : (unmeasurable(typed, "service", true) ?? ""), /no resource types/)
    const [unknown] = slosOf("door.delivery_p99<1s")
    assert.match(unknown === undefined ? "" : (unmeasurable(unknown, "virtual", true) ?? ""), /call, access_log/)
  })

  it("say what receivers were offered and what they got", () => {
    const report = reportOf(
      measured((own) => {
        const house = own.integration(1, "House")
        for (let nth = 0; nth < 600; nth++) own.deliver(nth * 10, house)
        for (let nth = 0; nth < 200; nth++) own.begin(nth * 30, nth < 100 ? 10 : 5_000, "call")
        own.isLoading = false
        for (let nth = 200; nth < 600; nth++) own.begin(10_000 + nth, 9_000, "call")
      }),
      { facts: { kind: "receiver" }, sending: 10_000, slos: "reached>=95%" }
    )
    assert.deepStrictEqual(report.first_requests, { offered: 60, begun: 20 })
    assert.match(
      summaryText(report),
      /^receivers +offered 60 requests\/s, got 20; 16\.7 % began within 1 s.*RATE NOT REACHED/m
    )
    assert.include(htmlReport(report), "offered 60 requests/s, got 20")
    assert.strictEqual(report.slos[0]?.met, false)
  })

  it("are missed before the end once they can no longer be met, or after 100 values of an unknown number", () => {
    const isMissed = (slo: string, measure: (measurements: Measurements) => void, mostEvents = Infinity) => {
      const measurements = measured(measure)
      const standing = figuresOf(measurements, "in-process", { lost: 0, broken: 0 })
      return isMissedAlready({ ...standing, measurements, mostEvents }, slosOf(slo)[0] ?? assert.fail())
    }
    const acks = (count: number, took: number) => (measurements: Measurements) => {
      for (let nth = 0; nth < count; nth++) measurements.request(nth, null, "acknowledged", took)
    }
    assert.deepStrictEqual(
      [
        isMissed("ack_p99<1s", acks(99, 2_000)),
        isMissed("ack_p99<1s", acks(100, 2_000)),
        isMissed("ack_max<1s", acks(1, 2_000)),
        isMissed("ack_p99>1s", acks(100, 500)),
        isMissed("failed=0", (own) => own.fail(0, 1, "no")),
        isMissed("failed=2", (own) => own.fail(0, 1, "no")),
        isMissed("failed>2", (own) => own.fail(0, 1, "no"))
      ],
      [false, true, true, false, true, false, false]
    )
    /** Of the first events, some are slow, and some are late and without an answer. */
    const events =
      (prompt: number, slow: number, late = 0) =>
      (measurements: Measurements) => {
        for (let nth = 0; nth < prompt + slow + late; nth++) {
          measurements.plan(nth)
          measurements.start(nth, nth, nth < prompt + slow ? 0 : 1_500)
          if (nth < prompt + slow) measurements.accept(nth < prompt ? 100 : 1_000, 50, nth)
        }
      }
    assert.deepStrictEqual(
      [
        // A percent of 61,200 events may be slow.
        isMissed("intended_p99<500ms", events(98, 2), 61_200),
        isMissed("intended_p99<500ms", events(98, 612), 61_200),
        isMissed("intended_p99<500ms", events(98, 613), 61_200),
        isMissed("intended_p99<500ms", events(98, 2)),
        isMissed("intended_mean<=200ms", events(0, 200), 1_000),
        isMissed("intended_mean<=200ms", events(0, 201), 1_000),
        isMissed("intended_p50=100ms", events(0, 500), 1_000),
        isMissed("intended_p50=100ms", events(0, 501), 1_000),
        isMissed("rate>=95%", events(0, 10, 50), 1_000),
        isMissed("rate>=95%", events(0, 10, 51), 1_000),
        isMissed("rate>=95%", events(0, 10, 90))
      ],
      [false, false, true, true, false, true, false, true, false, true, true]
    )
  })

  it("show times readably, exactly if they would look like the objective, and are missed without measurements", () => {
    const ack = (took: number) =>
      reportOf(
        measured((own) => own.request(0, null, "acknowledged", took)),
        { slos: "ack_max<1s" }
      ).slos[0]?.measured
    assert.deepStrictEqual([ack(65_432), ack(1_002), ack(40)], ["1.1 min", "1002ms", "40 ms"])
    const [none = assert.fail()] = slosOf("ack_p99<1s")
    assert.deepStrictEqual(judgeSlo(reportOf(new Measurements()), none), {
      slo: "ack_p99<1s",
      met: false,
      measured: "nothing to measure"
    })
  })
})

describe("the warm-up", () => {
  it("is left out of latencies but included in counts", () => {
    const measurements = measured((own) => {
      for (let at = 0; at < 10_000; at += 1_000) {
        own.plan(at)
        own.start(at, at, at < 5_000 ? 400 : 4)
        own.accept(at < 5_000 ? 900 : 9, 9, at)
        own.request(at, own.integration(1, "House"), "acknowledged", at < 5_000 ? 700 : 7)
      }
    }, 5_000)
    const { latency, outcomes, totals } = measurements
    assert.deepStrictEqual(
      [latency.intended.count, latency.intended.max, latency.ack.max, latency.late_start.max],
      [5, 9, 7, 4]
    )
    assert.deepInclude(reportOf(measurements).integration_lines[0], { requests: 10, ack_p50: 7, ack_p99: 7 })
    assert.deepInclude(totals, { planned: 10, accepted: 10, requests: 10 })
    assert.deepStrictEqual(outcomes, { acknowledged: 10 })
  })
})

/** Measures this many planned and accepted events, and two that were not accepted. */
const events = (planned: number, accepted: number) => (own: Measurements) => {
  for (let nth = 0; nth < planned; nth++) own.plan(nth * 1_000)
  for (let nth = 0; nth < accepted; nth++) own.accept(10 * nth, nth, nth * 1_000)
  own.fail(0, 2, "full")
}

describe("counts of events", () => {
  it("add up even if a run was cut short", () => {
    const report = reportOf(measured(events(9, 4)))
    assert.deepInclude(report.totals, { planned: 9, accepted: 4, failed: 2, unanswered: 3 })
    assert.match(summaryText(report), /^unanswered +3 /m)
  })

  it.each([
    ["service", "The service did not accept 2 events; the last answer was: full"],
    ["receiver", "The engine in this process did not accept 2 events; the last answer was: full"]
  ] as const)("name the refusing side in a run of kind %s", (kind, says) => {
    assert.strictEqual(
      failureOf(reportOf(measured(events(2, 0)), { facts: { kind } }), { lastFailure: "full" })?.message,
      says
    )
  })

  it("fail a run whose service does not report its deliveries, unless it was interrupted", () => {
    const took = (count: number, more: Wishes) => {
      const measurements = measured((own) => {
        for (let nth = 0; nth < count; nth++) own.accept(null, 1)
      })
      const report = reportOf(measurements, { facts: { kind: "service" }, lost: null, ...more })
      const failure = failureOf(report, { silence: "status 503: busy" })
      return [report.verdict, failure?.message ?? null, /<p class="verdict[^>]*>([^<]*)/.exec(htmlReport(report))?.[1]]
    }
    assert.deepStrictEqual(took(2, {}), [
      "fail",
      "The service did not report the deliveries of 2 accepted events: status 503: busy",
      "✗ Not accounted for"
    ])
    assert.deepStrictEqual(took(2, { lost: 0 }), ["pass", null, "✓ All accounted for"])
    assert.deepStrictEqual(took(0, {}), ["pass", null, "✓ All accounted for"])
    assert.deepStrictEqual(took(2, { interrupted: true }), ["pass", null, "◐ Interrupted"])
  })

  it("separate lost deliveries from broken rules", () => {
    const why = (lost: number, broken: number) => failureOf(reportOf(new Measurements(), { lost, broken }))?.message
    assert.strictEqual(why(0, 3), "A delivery rule was broken in 3 places; the summary says which")
    assert.strictEqual(why(2, 3), "2 deliveries of accepted events are not accounted for")
  })

  it("include requests held by --max-inflight and failed lookups", () => {
    const measurements = measured((own) => {
      own.totals.held = 12
      Object.assign(own.sample, { wanted: 40, failed: 3, why: "status 429: slow down" })
    })
    const report = reportOf(measurements, { facts: { kind: "service" } })
    assert.match(summaryText(report), /^held +12 publish requests waited, because 1,000 were open/m)
    assert.match(summaryText(report), /^sampled +37 deliveries for request times; 3 more lookups failed \(status 429/m)
    assert.include(htmlReport(report), "12 publish requests waited")
    assert.deepStrictEqual(report.sample, { wanted: 40, failed: 3, why: "status 429: slow down" })
  })
})

describe("a report of a service", () => {
  const measurements = measured((own) => {
    const totals = own.integration(1, "North Tower")
    for (let nth = 0; nth < 5_000; nth++) {
      own.plan(0)
      own.start(0, 0, 0)
      own.accept(10, 10, 0)
      own.reported(totals, "delivered", 1)
      if (nth % 5 === 0) own.sampled(nth, "acknowledged", 100, 150)
    }
  })

  it("counts every request, and shows unknown figures as not measured", () => {
    const report = reportOf(measurements, { facts: { kind: "service" }, slos: "ack_p99<1s" })
    assert.deepStrictEqual(
      [report.totals.requests, report.outcomes],
      [5_000, { acknowledged: 1_000, not_sampled: 4_000 }]
    )
    assert.deepStrictEqual([report.totals.backlog, report.totals.broken, report.totals.duplicates], [null, null, null])
    const page = htmlReport(report)
    assert.notMatch(page, />0 ms<|>0<small>deliveries at once/)
    assert.include(page, "Publish latency, from the planned time")
    assert.match(csvReport(report), /\r\n0,5000,0,0,5000,0,0,,,,,,5000,,10,10,100,100\r\n/)
  })
})

describe("the reports of several generators", () => {
  const all = (own: Measurements, from: number, step: number) => {
    const house = own.integration(1, "House")
    for (let nth = from; nth < 3_000; nth += step) {
      const at = nth * 100
      own.plan(at)
      own.start(at, at, nth % 7)
      own.accept((nth * nth) % 9_001, nth % 50, at)
      own.deliver(at, house)
      own.request(at + 40, house, nth % 9 === 0 ? "timeout" : "acknowledged", (nth * 13) % 5_000)
      own.settle(at + 40, house, "delivered", 1, 40)
    }
  }

  it("merge to the report of one generator with the whole load", () => {
    const parts = [0, 1, 2].map((from) => {
      const report = reportOf(
        measured((own) => all(own, from, 3)),
        { facts: { generator: `${from + 1}/3` } }
      )
      return Option.getOrThrow(readReport(JSON.stringify(report)))
    })
    const merged = reportOf(mergedMeasurements(parts))
    const whole = reportOf(measured((own) => all(own, 0, 1)))
    assert.deepStrictEqual(merged.latency, whole.latency)
    assert.deepStrictEqual(merged.outcomes, whole.outcomes)
    assert.deepStrictEqual(merged.attempts_per_delivery, whole.attempts_per_delivery)
    assert.deepStrictEqual(merged.series_histograms, whole.series_histograms)
    const counts = ({ totals }: RunReport) => ({ ...totals, backlog: 0, backlog_at: 0, peak_requests: 0 })
    assert.deepStrictEqual(counts(merged), counts(whole))
    const [line, other] = [merged.integration_lines[0], whole.integration_lines[0]]
    assert.deepStrictEqual([line?.deliveries, line?.ack], [other?.deliveries, other?.ack])
  })

  it("add backlogs, and keep the time of the highest", () => {
    const parts = [2, 3, 1].map((open, nth) =>
      reportOf(
        measured((own) => {
          for (let at = 0; at < open; at++) own.deliver(nth * minute + at, own.integration(1, "House"))
        })
      )
    )
    const { backlog, backlog_at } = reportOf(mergedMeasurements(parts)).totals
    assert.deepStrictEqual([backlog, backlog_at], [6, minute + 2])
  })

  it("are read from their JSON, and other texts are refused", () => {
    const text = JSON.stringify(reportOf(measured((own) => all(own, 0, 1))))
    assert.isTrue(Option.isSome(readReport(text)))
    for (const other of ["", "{}", "[]", text.replace('"schemaVersion":3', '"schemaVersion":1'), text.slice(1)])
      assert.isTrue(Option.isNone(readReport(other)))
  })
})

describe("progress", () => {
  it("shows the share done and the time left", () => {
    const line = (share: number | null) =>
      progressLine({ share, elapsed: 60_000, place: "5 min", measured: measured(events(9, 4)), phase: null })
    assert.match(
      line(0.25),
      /^\[#{6}-{18}\] {2}25 % {2}5 min {2}3 min left {2}events 4 {2}failed 2 {2}publish p99 30 ms$/
    )
    assert.notInclude(line(null), "left")
  })
})

describe("metrics during a run", () => {
  it("are Prometheus text: counters, gauges, and histograms that add up", () => {
    const text = metricsText(measured(events(9, 4)))
    for (const line of [
      "# TYPE doorhook_simulate_planned_total counter",
      "doorhook_simulate_planned_total 9",
      "doorhook_simulate_failed_total 2",
      "doorhook_simulate_unanswered 3",
      "# TYPE doorhook_simulate_intended_seconds histogram",
      'doorhook_simulate_intended_seconds_bucket{le="0.025"} 3',
      'doorhook_simulate_intended_seconds_bucket{le="+Inf"} 4',
      "doorhook_simulate_intended_seconds_sum 0.06",
      "doorhook_simulate_intended_seconds_count 4"
    ])
      assert.include(text.split("\n"), line)
  })
})

describe("the summary of outages", () => {
  const forADay = describedFor([Result.getOrThrow(readReceiver("1=down:09:00-12:00"))], 1)
  const about = (measure: (measurements: Measurements, house: IntegrationTotals) => void) =>
    outagesText(reportOf(measured((own) => measure(own, own.integration(1, "House", forADay)))))

  it("covers only the outage, whatever the load before and after it", () => {
    const ordinary = (own: Measurements, house: IntegrationTotals, at: number) => {
      for (let nth = 0; nth < 9; nth++) own.deliver(at, house)
      for (let nth = 0; nth < 9; nth++) own.settle(at + 50, house, "delivered", 1, 50)
    }
    assert.strictEqual(
      about((own, house) => ordinary(own, house, 10 * minute)),
      "House: nothing waited."
    )
    const drained = about((own, house) => {
      ordinary(own, house, 10 * minute)
      for (const at of [70, 80]) own.outageBegan(at * minute, house, "connection_refused")
      for (const at of [245, 250]) own.outageEnded(at * minute, house, "delivered")
      ordinary(own, house, 50 * hour)
    })
    assert.strictEqual(
      drained,
      "House: 2 deliveries waiting at most, at 09:20; none left at 12:10, 5 min after the first was delivered again."
    )
  })

  it("says if the integration was disabled during the outage", () => {
    const answer = about((own, house) => {
      for (let nth = 0; nth < 5; nth++) own.deliver(nth, house)
      for (let nth = 0; nth < 5; nth++) own.outageBegan(nth, house, "connection_refused")
      for (let nth = 0; nth < 5; nth++) own.settle(10 * minute, house, "cancelled", 3, minute)
      for (let nth = 0; nth < 5; nth++) own.outageEnded(10 * minute, house, "cancelled")
    })
    assert.match(answer ?? "", /then its integration was disabled or deleted: 5 cancelled, 0 skipped\.$/)
  })
})

describe("times of the day", () => {
  it("are few for a run of any length", () => {
    for (const days of [1 / 24, 1, 30, 365, 780, 781, 3_650, 40_000]) {
      const { length } = timeMarks(days * day, 8 * hour)
      assert.isTrue(length >= 4 && length <= 7, `${days} days have ${length} marks`)
    }
  })

  // The run begins on the day before clocks go forward in Berlin.
  const facts = { start: "2026-03-28T08:00", began_at: "2026-03-28T07:00:00.000Z", duration: 2 * day }
  const worst = measured((own) => {
    own.deliver(
      day,
      own.integration(1, "House", describedFor([Result.getOrThrow(readReceiver("down:09:00-15:00"))], 1))
    )
  })
  const charted = (report: RunReport) => ({ ...report, interval: (2 * day) / report.series.length })

  it("are those of local clocks, even after a clock change", () => {
    const report = charted(reportOf(worst, { facts }))
    const noons = timesOf(report).filter(({ name }) => name === "12:00")
    assert.deepStrictEqual(
      noons.map(({ at }) => Math.round((at / 100) * 48)),
      [4, 27]
    )
    assert.deepStrictEqual(
      bandsOf(report).map(({ from }) => Math.round((from / 100) * 48)),
      [1, 24]
    )
  })

  it("are in UTC for buildings in several time zones, without bands of down times", () => {
    const report = charted(reportOf(worst, { facts: { ...facts, time_zone: null } }))
    assert.match(timesOf(report)[0]?.name ?? "", / UTC$/)
    assert.deepStrictEqual(bandsOf(report), [])
  })
})
