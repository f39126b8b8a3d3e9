/**
 * All formats of a report with every verdict and with the most hostile text that a receiver can send.
 */
import { assert, describe, it } from "@effect/vitest"
import { blocksOf, confirmedInWords, dataOf, differencesOf } from "../../src/report/Blocks.ts"
import { folded } from "../../src/report/MakeReport.ts"
import { explanationOf } from "../../src/report/Explanation.ts"
import type { Explained } from "../../src/report/Explanation.ts"
import { toHtml } from "../../src/report/Html.ts"
import { toJUnit } from "../../src/report/JUnit.ts"
import type { Report, ReportedRequirement } from "../../src/report/Report.ts"
import { linesOf, render, toMarkdown } from "../../src/report/Text.ts"
import { select } from "../../src/requirements/Catalogue.ts"
import { sampleReport, secret, signature } from "../support/sampleReport.ts"

const forms = {
  console: render(sampleReport),
  junit: toJUnit(sampleReport),
  html: toHtml(sampleReport),
  md: toMarkdown(sampleReport)
}

const failed = sampleReport.requirements.find(({ id }) => id === "R-DUP-01") ?? assert.fail("no sample")

/** All requirements of level 2. */
const requirements = select({ level: 2, profile: [], only: [], skip: [] }).selected

/** Makes the parts of a report in which these requirements passed, with changes by id. */
const passing = (
  tested: ReadonlyArray<Pick<ReportedRequirement, "id">>,
  others: Readonly<Record<string, Partial<ReportedRequirement>>> = {}
): Pick<Report, "verdict" | "level" | "profiles" | "requirements"> => ({
  verdict: "pass",
  level: 2,
  profiles: [],
  requirements: tested.flatMap(({ id }) =>
    sampleReport.requirements.slice(0, 1).map((one) => ({ ...one, id, ...others[id] }))
  )
})

interface Tag {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
}

/** Reads the tags of XML. Fails if tags are not nested properly or a text is not escaped. */
const tagsOf = (xml: string): ReadonlyArray<Tag> => {
  const tags: Array<Tag> = []
  const open: Array<string> = []
  const text = xml.replace(/^<\?xml[^>]*\?>/, "")
  const pattern = /<(\/?)([A-Za-z-]+)((?: [A-Za-z]+="[^"<]*")*)(\/?)>/g
  for (const [, closing, name = "", attributes = "", empty] of text.matchAll(pattern)) {
    if (closing === "/") {
      assert.strictEqual(open.pop(), name)
      continue
    }
    tags.push({
      name,
      attributes: Object.fromEntries(
        [...attributes.matchAll(/([A-Za-z]+)="([^"]*)"/g)].map(([, key, value]) => [key, value])
      )
    })
    if (empty !== "/") open.push(name)
  }
  assert.deepStrictEqual(open, [])
  assert.notMatch(text.replaceAll(pattern, ""), /[<>]|&(?!(?:amp|lt|gt|quot|apos|#\d+);)/)
  return tags
}

describe("every form", () => {
  it.each(Object.entries(forms))("contains no secret: %s", (_, text) => {
    for (const hidden of [secret, signature, "Bearer hush", "sid=hush", "key=hush"]) assert.notInclude(text, hidden)
    assert.notMatch(text, /[\u0000-\u0008\u000b-\u001f\u202e]/, "steers a terminal or turns the text around")
  })
})

const plain = (text: string): string =>
  text
    .replaceAll(/&lt;|&#60;/g, "<")
    .replaceAll(/&gt;|&#62;/g, ">")
    .replaceAll(/&quot;|&#34;/g, '"')
    .replaceAll(/&apos;|&#39;/g, "'")
    .replaceAll("&#64;", "@")
    .replaceAll("&amp;", "&")
    .replaceAll("\\", "")

const explanation = explanationOf(sampleReport)
const [root = assert.fail("nothing is explained"), ...others] = explanation.explained

describe("every form for people", () => {
  const all = (one: Explained): ReadonlyArray<Explained> => [one, ...one.followers.flatMap(all)]

  it.each(["console", "html", "md"] as const)("contains every text of every block: %s", (form) => {
    const text = plain(forms[form])
    for (const { blocks, headline, ids } of explanation.explained) {
      const texts = blocks.flatMap(({ label, lines }) => [label, ...lines])
      for (const words of [headline, ...ids, ...texts]) assert.include(text, plain(words))
    }
    for (const { blocks, ids } of root.followers.flatMap(all)) {
      const seen = blocks.flatMap(({ isImportant, lines }) => (isImportant ? lines : []))
      for (const words of [...ids, ...seen]) assert.include(text, plain(words))
    }
    assert.include(text.toLowerCase(), "probably caused by this")
    for (const words of [explanation.counts, ...explanation.notes]) {
      assert.include(text, plain(words))
    }
  })

  it("contains the same texts as JUnit, where a folded failure is skipped", () => {
    const text = plain(forms.junit)
    for (const words of linesOf({ ...root, followers: [] })) assert.include(text, plain(words))
    assert.match(forms.junit, /<testcase name="R-DUP-03 [^>]*><skipped message="FAIL, probably caused by R-DUP-01: /)
  })
})

describe("the explanation", () => {
  it("begins with root causes, folds followers under them, and merges what is open for the same reason", () => {
    assert.deepStrictEqual(
      explanation.explained.map(({ followers, ids, verdict }) => [verdict, ids, followers.flatMap((one) => one.ids)]),
      [
        ["FAIL", ["R-DUP-01"], ["R-DUP-03"]],
        ["FAIL", ["R-ACK-03"], []],
        ["ERROR", ["R-GET-01"], []],
        ["WARN", ["R-DUP-07"], []],
        ["INCONCLUSIVE", ["R-DUP-02"], []],
        ["INCONCLUSIVE", ["R-LOS-01", "R-LOS-02"], []],
        ["NOT_OBSERVABLE", ["R-FWD-02"], []]
      ]
    )
    const open = others.find(({ ids }) => ids.includes("R-LOS-01"))
    assert.deepStrictEqual(open?.blocks, [
      { label: "Observed", lines: ["the time was up (--max-time)"], isImportant: true }
    ])
  })

  it("never folds a failure under a weaker verdict, nor in a circle", () => {
    const rootsOf = (change: (one: ReportedRequirement) => Partial<ReportedRequirement>) =>
      explanationOf({
        ...sampleReport,
        requirements: folded(sampleReport.requirements.map((one) => ({ ...one, ...change(one) })))
      }).explained.flatMap(({ ids }) => ids)
    const shown = rootsOf(({ id }) => (id === "R-DUP-01" ? { verdict: "WARN" } : {}))
    assert.include(shown, "R-DUP-03", "a WARN explains no FAIL")
    assert.include(
      rootsOf(({ id }) => (id === "R-DUP-01" ? { known: true } : {})),
      "R-DUP-03",
      "a known failure explains none"
    )
    const circle = rootsOf(({ id }) => (id === "R-DUP-01" ? { follows: ["R-DUP-03"] } : {}))
    assert.strictEqual(circle.filter((id) => id === "R-DUP-01" || id === "R-DUP-03").length, 1)
  })

  it("shows every attempt of the decisive event, with its number, and says why a MUST is only WARN", () => {
    const [step, one, other] = [failed.history[0], failed.effects[0], "evt_other"]
    const [attempt] = step?.attempts ?? []
    if (step === undefined || attempt === undefined || one === undefined) return assert.fail("nothing is sampled")
    const beside = Array.from({ length: 9 }, () => ({ ...attempt, webhookId: other }))
    const decisive = { ...attempt, got: "late" }
    const blocks = blocksOf({
      ...failed,
      verdict: "WARN",
      history: [{ ...step, attempts: [...beside, { ...attempt, got: "early" }, decisive] }],
      decidedBy: { step: 0, attempt: 10 },
      effects: [
        { ...one, event: 57 },
        { ...one, event: 2, webhookId: "evt_third" }
      ]
    })
    const history = blocks.find(({ label }) => label === "History")?.lines ?? []
    assert.deepStrictEqual(history.slice(-3), [
      "   got   event 57: early: ok",
      "   got   event 57: late: ok   <- here",
      "   and 3 more attempts"
    ])
    assert.isTrue(blocks.some(({ label }) => label === "Only WARN"))
    assert.isFalse(
      blocksOf({ ...failed, verdict: "WARN", strength: "SHOULD" }).some(({ label }) => label === "Only WARN")
    )
  })

  it("shows the member that is stored differently, or says how to see it", () => {
    const [follower] = root.followers
    assert.deepStrictEqual(
      follower?.blocks.find(({ label }) => label === "Stored data"),
      { label: "Stored data", lines: ["data.name", '  sent    "Zoë 🔑"', '  stored  "Zo"'], isImportant: false }
    )
    assert.include(forms.console, "return `data` beside `digest` in the probe's answer")
  })

  it("says how often a failure recurred, and what it probably depends on if it did not", () => {
    const words = [5, 1, 0].map((failed) => confirmedInWords({ tried: 5, failed }))
    assert.deepStrictEqual(words, [
      "5 times, one at a time: it failed each time",
      "5 times, one at a time: it failed once",
      "5 times, one at a time: it did not fail again, so it probably depends on timing or on concurrent requests"
    ])
  })

  it("adds to the claim of a pass how long ids were remembered, unless R-DUP-06 tested that", () => {
    const passed = { ...sampleReport, ...passing(requirements), memory: { seconds: 42, ids: 1_586 } }
    assert.strictEqual(explanationOf(passed).claim, "L2 once, ids were remembered for 42 s and 1,586 other events")
    const further = { ...passed, requirements: [...passed.requirements, ...passing([{ id: "R-DUP-06" }]).requirements] }
    assert.strictEqual(explanationOf(further).claim, "L2 once")
    assert.strictEqual(
      explanationOf({ ...passed, bindings: ["access_log:create"] }).claim.split(",")[0],
      "L2 once for access_log:create"
    )
  })
})

describe("differences in data", () => {
  const rows: ReadonlyArray<readonly [sent: string, stored: string, ...ReadonlyArray<string>]> = [
    ['{"a":1,"b":[1,{"c":"x"}]}', '{"b":[1,{"c":"y"}],"a":1.0}', 'data.b[1].c "x" "y"'],
    ['{"n":9007199254740993}', '{"n":9007199254740992}', "data.n 9007199254740993 9007199254740992"],
    ['{"a":null}', "{}", "data.a null (missing)"],
    ['{"a b":1}', '{"a b":1,"c":2}', "data.c (missing) 2"],
    ['{"a":[]}', '{"a":{}}', "data.a [] {}"],
    ['{"name":"a"}', '{"name":"a\u00a0"}', 'data.name "a" "a\\u00a0"'],
    [
      JSON.stringify({ a: `${"é".repeat(99)}ß${"z".repeat(99)}` }),
      JSON.stringify({ a: `${"é".repeat(99)}ss${"z".repeat(99)}` }),
      `data.a "...${"é".repeat(20)}ß${"z".repeat(39)}..." (199 characters) "...${"é".repeat(20)}ss${"z".repeat(38)}..." (200 characters)`
    ],
    [
      JSON.stringify({ a: "a".repeat(81) }),
      JSON.stringify({ a: "a".repeat(80) }),
      `data.a "...${"a".repeat(21)}" (81 characters) "...${"a".repeat(20)}" (80 characters)`
    ],
    ["{}", "no JSON"],
    ['{"n":1e2}', '{"n":100}']
  ]
  it.each(rows)("between %s and %s", (sent, stored, ...expected) => {
    assert.deepStrictEqual(
      differencesOf(sent, stored).map((one) => `${one.path} ${one.sent} ${one.stored}`),
      expected
    )
  })

  it("are found in the data of a body, with all digits", () => {
    assert.strictEqual(dataOf('{"event":{"data":{"id":12345678901234567890}}}'), '{"id":12345678901234567890}')
    assert.isNull(dataOf('{"event":'))
  })
})

describe("the console", () => {
  const story = forms.console

  it("shows the rule, the requests, the answers, the curl command, and last the command that repeats it", () => {
    const block = story.slice(story.indexOf("FAIL  R-DUP-01\n"), story.indexOf("  Probably caused by this"))
    const order = [
      "The rule",
      "Expected",
      "Observed",
      "History",
      "sent  a new call event",
      "got   200",
      "then  the receiver is restarted",
      "<- here",
      "and 4 more attempts",
      "took effect 2 times",
      "Repeated   5 times",
      "Because",
      "By hand    curl",
      "Again      npx doorhook"
    ]
    const places = order.map((text) => block.indexOf(text))
    assert.deepStrictEqual(
      places,
      places.toSorted((a, b) => a - b),
      block
    )
    assert.notInclude(places, -1, block)
    assert.match(block.trimEnd(), /--only R-DUP-01 --seed 7$/)
  })

  it("says what makes a verdict less certain", () => {
    assert.include(story, "The probe's upper range is unverified.")
    assert.include(story, "The baseline lists requirements that no longer fail: R-ACK-04")
    assert.include(story, "Known      it is in the baseline")
  })
})

describe("JUnit XML", () => {
  const tags = tagsOf(forms.junit)
  const count = (name: string): number => tags.filter((tag) => tag.name === name).length

  it("has a case for each requirement, and distinguishes undecided from passed", () => {
    assert.strictEqual(count("testcase"), sampleReport.requirements.length)
    assert.strictEqual(count("failure"), 1, "a known or folded failure does not fail the build")
    assert.strictEqual(count("error"), 1)
    assert.strictEqual(
      count("skipped"),
      8,
      "3 INCONCLUSIVE, NOT_OBSERVABLE, SKIPPED, WARN, the known failure and the folded one"
    )
    for (const verdict of ["INCONCLUSIVE", "NOT_OBSERVABLE", "SKIPPED"]) {
      assert.isTrue(
        tags.some(({ attributes, name }) => name === "skipped" && attributes["message"]?.startsWith(verdict))
      )
    }
  })

  it("counts its cases", () => {
    const suites = tags.filter(({ name }) => name === "testsuite")
    const sum = (key: string): number => suites.reduce((total, { attributes }) => total + Number(attributes[key]), 0)
    assert.deepStrictEqual(["tests", "failures", "errors", "skipped"].map(sum), [12, 1, 1, 8])
    for (const { attributes } of suites) {
      assert.match(attributes["time"] ?? "", /^\d+\.\d{3}$/)
      assert.match(attributes["timestamp"] ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/)
    }
  })

  it("has only elements and attributes of Jenkins' junit-10.xsd", () => {
    const known: Readonly<Record<string, ReadonlyArray<string>>> = {
      testsuites: ["name", "time", "tests", "failures", "errors"],
      testsuite: ["name", "tests", "failures", "errors", "skipped", "time", "timestamp", "id"],
      properties: [],
      property: ["name", "value"],
      testcase: ["name", "time", "classname"],
      skipped: ["type", "message"],
      error: ["type", "message"],
      failure: ["type", "message"],
      "system-out": []
    }
    for (const { attributes, name } of tags) {
      assert.isDefined(known[name], name)
      for (const key of Object.keys(attributes)) assert.include(known[name] ?? [], key, name)
    }
  })
})

/** Returns the sample report with these changes, but without errors and unknown failures. */
const without = (change: Partial<Report>): Report => ({
  ...sampleReport,
  baseline: null,
  requirements: sampleReport.requirements.filter(({ known, verdict }) => known || !/^(?:FAIL|ERROR)$/.test(verdict)),
  ...change
})

const probeMessage = "The probe command ended with 2: ./count. It must print the number of effects."
const probeGone = without({ verdict: "inconclusive", ended: "probe_unusable", endedBecause: probeMessage })

describe("a run whose probe could not be used", () => {
  it("says so, and why, in every form for people, and does not blame the receiver", () => {
    for (const text of [render(probeGone), toMarkdown(probeGone), toHtml(probeGone), toJUnit(probeGone)]) {
      assert.match(text, /The probe could no longer be used/)
      assert.include(text, "The probe command ended with 2: ./count.")
      assert.notMatch(text, /could not be reached/)
    }
  })

  it("is reported on one line if nothing could be sent", () => {
    assert.strictEqual(render({ ...probeGone, attempts: 0 }), `The probe could not be used. ${probeMessage}`)
    const gone = { ...probeGone, attempts: 0, ended: "target_unusable" } as const
    assert.strictEqual(render(gone), `The receiver could not be reached or operated. ${probeMessage}`)
    assert.notInclude(toHtml(gone), "What did not pass")
  })
})

describe("JUnit XML of a run that did not pass, without a failed requirement", () => {
  const nothingRun = { ...probeGone, ended: "complete", endedBecause: "Nothing was tested.", requirements: [] } as const
  const errors: ReadonlyArray<readonly [what: string, report: Report, type: string, message: RegExp]> = [
    ["exit code 4, the probe", probeGone, "UNUSABLE", /^The probe command ended with 2/],
    [
      "exit code 4, whatever else it found",
      { ...sampleReport, ended: "target_unusable", endedBecause: "Nothing accepts connections." },
      "UNUSABLE",
      /^Nothing accepts connections/
    ],
    ["exit code 2, nothing tested", nothingRun, "INCONCLUSIVE", /^Nothing was tested\.$/],
    [
      "exit code 2, a MUST left open",
      without({ verdict: "inconclusive" }),
      "INCONCLUSIVE",
      /^Inconclusive: R-DUP-02, R-LOS-01, R-LOS-02 could not be decided\.$/
    ],
    [
      "exit code 1, a stale baseline",
      without({ verdict: "fail", baseline: { known: ["R-ACK-01"], stale: ["R-ACK-01"] } }),
      "FAIL",
      /^The baseline is stale: R-ACK-01 passed/
    ]
  ]
  it.each(errors)("has an error of the run itself: %s", (_, report, type, message) => {
    const tags = tagsOf(toJUnit(report))
    const [whole] = tags
    const suite = tags.findLast(({ name }) => name === "testsuite")
    const place = tags.findIndex(({ attributes }) => attributes["classname"] === "doorhook.conformance.RUN")
    assert.strictEqual(tags[place]?.name, "testcase")
    assert.strictEqual(tags[place + 1]?.name, "error")
    assert.strictEqual(tags[place + 1]?.attributes["type"], type)
    assert.match(tags[place + 1]?.attributes["message"] ?? "", message)
    assert.deepInclude(suite?.attributes, { tests: "1", errors: "1", failures: "0", skipped: "0" })
    const errors = tags.filter(({ name }) => name === "error").length
    assert.strictEqual(whole?.attributes["errors"], String(errors))
    assert.strictEqual(whole?.attributes["tests"], String(report.requirements.length + 1))
  })

  it("has no such error if a case shows the failure, or if the run passed", () => {
    for (const report of [sampleReport, without({ verdict: "pass" })]) {
      assert.notInclude(toJUnit(report), "doorhook.conformance.RUN")
    }
  })
})

describe("Markdown", () => {
  it("begins with the verdict and escapes the receiver's texts", () => {
    assert.match(forms.md, /^### ❌ The receiver does not conform/)
    // In a code block, nothing is markup.
    const outside = forms.md.replaceAll(/^(`{3,})text\n[^]*?\n\1$/gm, "")
    assert.notInclude(outside, "<script>")
    assert.notMatch(outside, /(?<![\\;])@team/)
    assert.include(forms.md, "| FAIL | R-DUP-01 | level 1 |")
    assert.strictEqual(forms.md.match(/<details>/g)?.length, forms.md.match(/<\/details>/g)?.length)
  })
})

describe("the claim of a pass", () => {
  it("names the level, the profiles and the parts that were not tested", () => {
    const { selected } = select({ level: 3, profile: ["signed"], only: [], skip: [] })
    const all = requirements.length
    const others = requirements.slice(1)
    const claims = [
      [passing(requirements), "L2 once"],
      [{ ...passing(selected), level: 3, profiles: ["signed"] }, "L3 durable + signed"],
      [passing(requirements.slice(0, 1)), `L2 once (1 of ${all} requirements)`],
      [passing(requirements, { "R-DUP-02": { verdict: "SKIPPED" } }), `L2 once (${all - 1} of ${all} requirements)`],
      [passing(requirements, { "R-DUP-02": { verdict: "FAIL", known: true } }), "L2 once (1 known to fail)"],
      [
        passing(others, { "R-DUP-02": { verdict: "FAIL", known: true } }),
        `L2 once (${all - 1} of ${all} requirements, 1 known to fail)`
      ]
    ] as const
    for (const [change, claim] of claims) {
      const report: Report = { ...sampleReport, ...change }
      const headline = claim.includes("(") ? "The receiver conforms in part" : "The receiver conforms"
      assert.include(toMarkdown(report), `### ✅ ${headline}\n\n${claim}: `)
      assert.include(toHtml(report), `<h1>${headline}</h1>`)
    }
  })
})
