/**
 * What the report says in words, for runs that went otherwise than usual.
 */
import { Result } from "effect"
import { Measurements, readReceiver, readSlos } from "@doorhook/simulator"
import type { RunReport } from "@doorhook/simulator"
import { assert, describe, it } from "@effect/vitest"
import { failureOf } from "../src/cli/real/Failing.ts"
import { describedFor } from "../src/receivers/ReceiverText.ts"
import { bandsOf, timesOf } from "../src/report/sections/TimeAxis.ts"
import { timeMarks } from "../src/report/Scale.ts"
import { htmlReport } from "../src/report/Html.ts"
import type { Findings } from "../src/results/MakeReport.ts"
import { makeReport } from "../src/results/MakeReport.ts"
import { summaryText } from "../src/results/RunText.ts"
import type { IntegrationTotals } from "../src/results/Measurements.ts"
import type { Slo } from "../src/results/Slo.ts"

const minute = 60_000
const down = describedFor([Result.getOrThrow(readReceiver("1=down"))], 1)

/** The report of measurements that somebody makes. */
const reporting = (
  measure: (measurements: Measurements) => void,
  facts: Partial<RunReport> = {},
  slos: ReadonlyArray<Slo> = [],
  ended: Partial<Pick<Findings, "interrupted" | "lost">> = {}
) => {
  const measurements = new Measurements()
  measure(measurements)
  const report = makeReport({
    facts: {
      kind: "virtual",
      target: "the engine",
      scenario: "quiet",
      description: "Quiet",
      seed: 1,
      start: "2026-03-03T08:00",
      time_zone: "Europe/Berlin",
      duration: 60 * minute,
      buildings: 1,
      integrations: 1,
      speed: 1,
      ack_timeout: 5_000,
      retry: { access_log: [] },
      command: "npx doorhook simulate run",
      began_at: "2026-03-03T07:00:00.000Z",
      ...facts
    },
    measurements,
    slos,
    lost: 0,
    broken: 0,
    violations: [],
    crashes: 0,
    storage: null,
    storageFailure: null,
    took: 60_000,
    sending: null,
    interrupted: false,
    stopped: false,
    ...ended
  })
  return { report, measurements }
}

describe("the account of events", () => {
  it.each(["virtual", "service"] as const)("is whole also where a run of kind %s was cut short", (kind) => {
    const { measurements, report } = reporting(
      (measured) => {
        for (let count = 0; count < 9; count++) measured.start("planned", null)
        for (let count = 0; count < 4; count++) measured.accept(null, 1)
        measured.refused = 2
      },
      { kind }
    )
    const { accepted, failed, planned, unanswered } = report.totals
    assert.deepStrictEqual([planned, accepted, failed, unanswered], [9, 4, 2, 3])
    assert.match(summaryText(report, kind === "virtual" ? null : measurements.summary), /^unanswered +3 /m)
  })

  it.each([
    ["service", "The service did not take 2 events; the last answer was: full"],
    ["receiver", "The engine in this process did not take 2 events; the last answer was: full"],
    ["in-process", "The engine in this process did not take 2 events; the last answer was: full"]
  ] as const)("names who did not take events in a run of kind %s", (kind, says) => {
    const { measurements, report } = reporting(
      (measured) => {
        measured.refused = 2
        measured.lastFailure = "full"
      },
      { kind }
    )
    assert.strictEqual(failureOf(report, measurements.summary, null)?.message, says)
  })

  it("fails a run of whose events the service says nothing, but for one that was interrupted", () => {
    const took = (events: number, ended: Partial<Pick<Findings, "interrupted" | "lost">>) => {
      const { measurements, report } = reporting(
        (measured) => {
          for (let count = 0; count < events; count++) measured.accept(null, 1)
        },
        { kind: "service" },
        [],
        { lost: null, ...ended }
      )
      const failure = failureOf(report, measurements.summary, "status 503: busy")
      return [report.verdict, failure?.message ?? null, /<p class="verdict[^>]*>([^<]*)/.exec(htmlReport(report))?.[1]]
    }
    assert.deepStrictEqual(took(2, {}), [
      "fail",
      "The service did not say what became of 2 events that it took in: status 503: busy",
      "✗ Not accounted for"
    ])
    assert.deepStrictEqual(took(2, { lost: 0 }), ["pass", null, "✓ All accounted for"])
    assert.deepStrictEqual(took(0, {}), ["pass", null, "✓ All accounted for"])
    assert.deepStrictEqual(took(2, { interrupted: true }), ["pass", null, "◐ Interrupted"])
  })

  it("is not said to be of all events where some were not followed", () => {
    const { report } = reporting(
      (measured) => {
        measured.unfollowed = 1
      },
      { kind: "service" }
    )
    assert.include(htmlReport(report), "✓ All that was followed is accounted for")
  })
})

/** What a report says of measurements that somebody makes. */
const answering = (measure: (measurements: Measurements) => void, facts: Partial<RunReport> = {}) => {
  const { answers } = reporting(measure, facts).report
  return (question: RegExp) => {
    const { answer, arithmetic } = answers.find((one) => question.test(one.question)) ?? assert.fail("not asked")
    return { answer, arithmetic: arithmetic ?? "" }
  }
}

describe("the summary", () => {
  const twice = (measurements: Measurements) => {
    const integration = measurements.integration(1, "House")
    for (let nth = 0; nth < 3; nth++) {
      measurements.deliver(nth, integration)
      if (nth > 0) measurements.attempt(nth, integration, "timeout", 5_000)
      measurements.attempt(nth, integration, "acknowledged", 40)
      measurements.settle(nth, integration, "delivered", nth > 0 ? 2 : 1, 50)
    }
    measurements.deliver(9, integration)
    measurements.settle(9, integration, "skipped", 0, 0)
  }

  it("counts requests to receivers, and those of publishing where there are some to speak of", () => {
    const { measurements, report } = reporting(twice)
    const text = summaryText(report, measurements.summary)
    assert.match(text, /^requests +5 \(2 of them again\)$/m)
    assert.notMatch(text, /retries|republished/)
    const service = reporting(twice, { kind: "service" })
    assert.match(summaryText(service.report, service.measurements.summary), /^republished +0 requests$/m)
  })

  it("says that nothing happens in a time that was played, and not of one that was interrupted", () => {
    const planned = (interrupted: boolean) => summaryText(reporting(() => {}, {}, [], { interrupted }).report, null)
    assert.match(planned(false), /^planned +0 events: nothing happens in this time\. Give a longer --duration/)
    assert.match(planned(true), /^planned +0 events\n/)
  })

  it("says times of objectives as people do, and exactly where that tells them from the objective", () => {
    const slos = Result.getOrThrow(readSlos("ack_max<1s,delivery_p50<100ms"))
    const ack = (took: number) => {
      const { report } = reporting(
        (measurements) => {
          measurements.attempt(0, measurements.integration(1, "House"), "acknowledged", took)
        },
        {},
        slos
      )
      return report.slos[0]?.measured
    }
    assert.deepStrictEqual([ack(65_432), ack(1_002), ack(40)], ["1.1 min", "1002ms", "40 ms"])
  })
})

describe("the answer to how many workers it takes", () => {
  it.each([
    [
      1,
      /^12 over one PostgreSQL, by the number of requests open at once; N times/,
      /busiest interval: 1000\.00 requests/
    ],
    [
      60,
      /^661 over one PostgreSQL, by the number of requests open at once; N times this load \(60 times the plan's\) takes/,
      /busiest interval, at 60 times the plan's pace: 60000\.00 requests\/s × 4\.5 s each/
    ],
    [null, /^12 over one PostgreSQL, by the number of requests open at once; N times/, /interval: 1000\.00 requests/]
  ] as const)("is for the load of the run, at speed %s", (speed, says, how) => {
    const ask = answering(
      (measurements) => {
        const integration = measurements.integration(1, "House")
        for (let nth = 0; nth < 10_000; nth++) measurements.attempt(nth, integration, "timeout", 4_500)
      },
      { kind: "in-process", speed }
    )
    const { answer, arithmetic } = ask(/How many workers/)
    assert.match(answer, says)
    assert.match(arithmetic, how)
  })

  it("counts what is not answered in time, and says more than one where one is not enough", () => {
    const ask = answering((measurements) => {
      const integration = measurements.integration(1, "House")
      for (let nth = 0; nth < 10_000; nth++) {
        // A second is the shortest interval: a thousand a second, nine of ten for five seconds.
        measurements.attempt(nth, integration, nth % 10 === 0 ? "acknowledged" : "timeout", nth % 10 === 0 ? 50 : 5_000)
      }
    })
    const { answer, arithmetic } = ask(/How many workers/)
    assert.match(arithmetic, /1000\.00 requests\/s × 4\.5 s each, .* = 4505\.00 open at once/)
    assert.match(answer, /^12 over one PostgreSQL/)
  })

  it("is one as long as that is so", () => {
    const ask = answering((measurements) => {
      measurements.attempt(0, measurements.integration(1, "House"), "acknowledged", 100)
    })
    assert.match(ask(/How many workers/).answer, /^One\. .* up to about 4,100 times this load/)
  })
})

describe("the answer to how big a backlog gets", () => {
  const forADay = describedFor([Result.getOrThrow(readReceiver("1=down:09:00-12:00"))], 1)
  const about = (receiver: typeof down, measure: (measurements: Measurements, house: IntegrationTotals) => void) =>
    answering((measurements) => measure(measurements, measurements.integration(1, "House", receiver)))(
      /How big does the backlog/
    ).answer

  it("says that the integration was disabled where that ended it, and not that it drained", () => {
    const answer = about(down, (measurements, house) => {
      for (let nth = 0; nth < 5; nth++) measurements.deliver(nth, house)
      for (let nth = 0; nth < 5; nth++) house.outage?.begin(nth)
      for (let nth = 0; nth < 5; nth++) measurements.settle(10 * minute, house, "cancelled", 3, minute)
      for (let nth = 0; nth < 5; nth++) house.outage?.end(10 * minute, "cancelled")
      measurements.deliver(20 * minute, house)
      measurements.settle(20 * minute, house, "skipped", 0, 0)
    })
    assert.match(answer, /then the integration was disabled: 5 deliveries were cancelled, one more was skipped\.$/)
    assert.notInclude(answer, "none was left")
  })

  it("is of the outage alone, however much there was to do before and after it", () => {
    const ordinary = (measurements: Measurements, house: IntegrationTotals, at: number) => {
      for (let nth = 0; nth < 9; nth++) measurements.deliver(at, house)
      for (let nth = 0; nth < 9; nth++) measurements.settle(at + 50, house, "delivered", 1, 50)
    }
    const between = (waits: (house: IntegrationTotals) => void) =>
      about(forADay, (measurements, house) => {
        ordinary(measurements, house, 10 * minute)
        waits(house)
        ordinary(measurements, house, 50 * 60 * minute)
      })
    assert.strictEqual(
      between(() => {}),
      "House: nothing waited during the outage."
    )
    // The run begins at 8 o'clock.
    const drained = between(({ outage }) => {
      outage?.begin(70 * minute)
      outage?.begin(80 * minute)
      outage?.end(245 * minute, "delivered")
      outage?.end(250 * minute, "delivered")
    })
    assert.strictEqual(
      drained,
      "House: 2 deliveries were waiting at most, at 09:20; none was left at 12:10, 2 h 50 min later, after the receiver was back at 12:00."
    )
  })

  it("does not say that the receiver was back where all had expired before", () => {
    const answer = about(forADay, (_measurements, { outage }) => {
      outage?.begin(70 * minute)
      outage?.end(71 * minute, "expired")
      outage?.begin(180 * minute)
      outage?.end(241 * minute, "delivered")
    })
    assert.match(answer, /none was left at 09:11, 1 min later, when the last had expired\.$/)
  })
})

describe("times of the day", () => {
  it("are few, however long the run", () => {
    for (const days of [1 / 24, 1, 30, 365, 780, 781, 3_650, 40_000]) {
      const { length } = timeMarks(days * 24 * 60 * minute, 8 * 60 * minute)
      assert.isTrue(length >= 4 && length <= 7, `${days} days have ${length} marks`)
    }
  })

  const day = 24 * 60 * minute
  const worst = (measurements: Measurements) => {
    const integration = measurements.integration(
      1,
      "House",
      describedFor([Result.getOrThrow(readReceiver("down:09:00-15:00"))], 1)
    )
    measurements.deliver(day, integration)
  }
  // The day before clocks in Berlin are put forward.
  const facts = { start: "2026-03-28T08:00", began_at: "2026-03-28T07:00:00.000Z", duration: 2 * day }

  it("are those that clocks show, also after these were changed", () => {
    assert.include(answering(worst, facts)(/worst moment/).answer, "at day 2, 09:00.")
    const { report } = reporting(worst, facts)
    const charted = { ...report, interval: (2 * day) / report.series.length }
    const noons = timesOf(charted).filter(({ name }) => name === "12:00")
    assert.deepStrictEqual(
      noons.map(({ at }) => Math.round((at / 100) * 48)),
      [4, 27]
    )
    const bands = bandsOf(charted).map(({ from }) => Math.round((from / 100) * 48))
    assert.deepStrictEqual(bands, [1, 24])
  })

  it("are named as UTC where buildings are in several time zones, and windows by several clocks are not drawn", () => {
    const several = { ...facts, time_zone: null }
    assert.include(answering(worst, several)(/worst moment/).answer, "at day 2, 07:00 UTC.")
    const { report } = reporting(worst, several)
    assert.match(timesOf(report)[0]?.name ?? "", / UTC$/)
    assert.deepStrictEqual(bandsOf(report), [])
  })
})

describe("the answer to how many duplicates there are", () => {
  it("gives no reason for none", () => {
    const ask = answering((measurements) => {
      measurements.attempt(0, measurements.integration(1, "House"), "acknowledged", 100)
    })
    assert.strictEqual(ask(/How many duplicates/).answer, "None in one request.")
  })
})

describe("the answer to how large the database is", () => {
  it("is none where there is too little to measure it on, with what helps", () => {
    const ask = answering((measurements) => {
      for (let nth = 0; nth < 20; nth++) measurements.accept(10, 10)
    })
    assert.match(ask(/How large/).answer, /^Not answered: 20 events are too few .* longer --duration/)
  })
})
