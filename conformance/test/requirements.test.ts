/**
 * The catalogue: every requirement is listed once, has all its texts, and fits into the time of a run.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { forBindings, History, keyOf, lanes } from "../src/history/History.ts"
import { inWords, strengthOf } from "../src/history/Operations.ts"
import { draw } from "../src/history/Samples.ts"
import { defaultCriteria } from "../src/judgement/Criteria.ts"
import { outOfReach, find, matches, selectionFlaw, requirements, select } from "../src/requirements/Catalogue.ts"
import { casesOf, everyCaseOf, families } from "../src/requirements/Requirement.ts"
import type { Need, Requirement } from "../src/requirements/Requirement.ts"
import { timeOfAll } from "../src/run/Schedule.ts"
import { traceOf } from "./support/traces.ts"

/** Number of requirements of each family in this version. CI jobs refer to the ids, so none may disappear. */
const catalogue = { ACK: 5, DUP: 8, NEW: 1, LOS: 3, LATE: 5, CRA: 4, ORD: 1, FWD: 2, HTTP: 9, SIG: 9, GET: 1, OWN: 0 }

const ids = Object.entries(catalogue).flatMap(([family, count]) =>
  Array.from({ length: count }, (_, index) => `R-${family}-${String(index + 1).padStart(2, "0")}`)
)

const always = requirements.filter(({ profile }) => profile === null)

/** The cases that a level 3 run without profiles must execute. */
const given = [
  ...new Map(
    always
      .flatMap((one) => casesOf(one, "both", new Set<Need>(["effects"])))
      .map((one) => [keyOf(one.history), one] as const)
  ).values()
]

/** Whether a judgement reads the effects of events. */
const looksAtEffects = ({ judge }: Requirement): boolean => {
  let isAsked = false
  const trace = {
    ...traceOf([]),
    get effects() {
      isAsked = true
      return []
    },
    events: [
      { webhookId: "evt_1", resourceType: "call", dataId: "7", documented: true, digest: "sha256:00", bulk: false }
    ]
  }
  judge(trace, defaultCriteria)
  return isAsked
}

describe("requirements", () => {
  it("are all listed once, by family", () => {
    assert.deepStrictEqual<ReadonlyArray<string>>(
      requirements.map(({ id }) => id),
      ids
    )
    assert.sameMembers(Object.keys(catalogue), Object.keys(families))
    assert.strictEqual(find("r-dup-01")?.id, "R-DUP-01")
  })

  it("need effects if their judgement reads them", () => {
    const saying = requirements.filter(({ needs, provenBy }) =>
      [...needs, ...provenBy].some((need) => need === "effects" || need === "digest")
    )
    assert.deepStrictEqual(
      requirements.filter(looksAtEffects).map(({ id }) => id),
      saying.map(({ id }) => id)
    )
  })

  it("do not presuppose each other in a circle", () => {
    const reach = (id: string, way: ReadonlyArray<string>): void => {
      assert.notInclude(way, id)
      for (const next of find(id)?.presupposes ?? assert.fail(`${id} is not a requirement`)) reach(next, [...way, id])
    }
    for (const { id } of requirements) reach(id, [])
  })

  it.each(requirements)("$id has all its texts, and histories that can be stored", (requirement) => {
    assert.match(requirement.statement, /\.$/)
    assert.match(requirement.because, /\.$/)
    assert.isNotEmpty(requirement.source)
    assert.isNotEmpty(requirement.expected(defaultCriteria))
    assert.isNotEmpty(requirement.given)
    const titles = new Set<string>()
    for (const { because = ".", history, title } of everyCaseOf(requirement)) {
      assert.isFalse(titles.has(title), title)
      titles.add(title)
      assert.match(because, /\.$/)
      const stored: unknown = JSON.parse(JSON.stringify(history))
      assert.deepStrictEqual(Schema.decodeUnknownSync(History)(stored), history)
      assert.strictEqual(inWords(history.ops).length, history.ops.length)
      assert.notMatch(JSON.stringify(history), /evt_/, "ids are minted at execution and never stored")
    }
  })

  it("take no more time for a verdict than a run has, with 300 ms for each answer", () => {
    assert.isAtMost(given.length, 150)
    const time = lanes
      .filter((lane) => lane !== "last" && lane !== "aged")
      .map((lane) =>
        timeOfAll(
          lane,
          given.filter((one) => one.lane === lane),
          { answer: 300, interval: 0, pace: 1 }
        )
      )
    assert.isAtMost(
      time.reduce((sum, one) => sum + one, 0),
      96_000,
      `by lane: ${time.map(Math.round).join(", ")}`
    )
  })

  it("send at most ten requests at the same time", () => {
    const atOnce = requirements.flatMap(everyCaseOf).flatMap(({ history }) =>
      history.ops.map((op) => {
        if (op.k === "race_new" || op.k === "race_again") return op.copies
        return op.k === "kill_amid" ? op.workers * (op.copies ?? 1) : 1
      })
    )
    assert.strictEqual(Math.max(...atOnce), 10)
  })

  it("do not rest a MUST on operations of strength SHOULD", () => {
    for (const { given: own, id, strength } of requirements) {
      if (strength === "SHOULD") continue
      const weak = own.filter(({ history }) => strengthOf(history.ops) === "SHOULD")
      assert.isBelow(weak.length, own.length, id)
      for (const { history } of weak) {
        // Forgeries with strength SHOULD have their own cases, because they would turn failures about other forgeries
        // into warnings.
        assert.isAtMost(history.ops.filter(({ k }) => k === "forged").length, 1, id)
      }
    }
    for (const { sampled } of requirements.filter(({ examines }) => examines === "all")) {
      for (const { history } of draw(sampled, 7)) assert.strictEqual(strengthOf(history.ops), "MUST")
    }
  })

  it("have cases for a receiver that is bound only to access logs, and send it nothing else", () => {
    const untested: Array<string> = []
    for (const requirement of requirements) {
      const left = casesOf(requirement, "both", new Set<Need>(["effects"])).flatMap(
        (one) => forBindings(one, ["access_log:create"]) ?? []
      )
      if (left.length === 0) untested.push(requirement.id)
      for (const { history, title } of left) {
        for (const op of history.ops) {
          if ("event" in op) assert.strictEqual(op.event.resource_type, "access_log", title)
        }
      }
    }
    // Only calls expire.
    assert.deepStrictEqual(untested, ["R-LATE-04"])
  })
})

describe("selection", () => {
  const asked = { level: 1, only: [], skip: [], profile: [] } as const
  const idsOf = (more: Partial<Parameters<typeof select>[0]>): ReadonlyArray<ReadonlyArray<string>> => {
    const { listed, selected, skipped } = select({ ...asked, ...more })
    return [selected, skipped, listed].map((some) => some.map(({ id }) => id))
  }

  it("takes ids and patterns in any case", () => {
    assert.isTrue(matches("R-DUP-01", "R-DUP-01"))
    assert.isTrue(matches("R-DUP-01", "r-dup-*"))
    assert.isTrue(matches("R-DUP-01", "*01"))
    assert.isFalse(matches("R-DUP-01", "R-DUP"))
    assert.isFalse(matches("R-DUP-01", "R.DUP.01"))
  })

  it("selects by level, profile, --only and --skip", () => {
    const [level1 = []] = idsOf({})
    assert.notInclude(level1.join(), "R-DUP-02", "of another level")
    assert.notInclude(level1.join(), "R-SIG-01", "of a profile")
    assert.include((idsOf({ level: 2, profile: ["signed"] })[0] ?? []).join(), "R-SIG-01")
    assert.deepStrictEqual(idsOf({ only: ["R-FWD-*, R-DUP-01"] }), [["R-DUP-01", "R-FWD-01", "R-FWD-02"], [], []])
    assert.deepStrictEqual(idsOf({ only: ["R-FWD-*"], skip: ["*-02"] }), [["R-FWD-01"], ["R-FWD-02"], []])
    assert.deepStrictEqual(idsOf({ only: ["R-NOPE"] }), [[], [], []])
  })

  it("lists a requirement whose profile is missing, unless it is skipped or the only one asked for", () => {
    assert.deepStrictEqual(idsOf({ level: 2 })[2], ["R-DUP-06"])
    assert.deepStrictEqual(idsOf({ level: 1 })[2], [])
    assert.deepStrictEqual(idsOf({ level: 2, skip: ["R-DUP-06"] })[2], [])
    assert.deepStrictEqual(idsOf({ level: 2, profile: ["clock"] })[2], [])
    assert.deepStrictEqual(idsOf({ level: 2, only: ["R-DUP-06"] }), [[], [], []])
    assert.deepStrictEqual(outOfReach({ ...asked, level: 2, only: ["R-DUP-06"] }), ["R-DUP-06 (--profile clock)"])
  })

  it("suggests an id for an unknown one", () => {
    assert.isNull(selectionFlaw({ only: ["R-DUP-*"], skip: [] }))
    assert.include(selectionFlaw({ only: ["R-DPU-01"], skip: [] }) ?? "", "R-DUP-01")
  })
})
