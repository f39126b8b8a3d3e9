/**
 * Probes and hooks as the command creates them, on a receiver in a separate process. The suite starts, kills and pauses
 * the receiver, and counts its effects with every kind of probe.
 */
import { receiverProgram } from "@doorhook/testkit/Doorhook"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { conformance, idsWith } from "./support/command.ts"
import { answer, deadPort, receiver } from "./support/receiver.ts"

const folder = mkdtempSync(join(tmpdir(), "conformance-means-"))

/** Returns flags that start a receiver, perhaps with a fault. */
const started = (name: string, fault = ""): ReadonlyArray<string> => [
  "--url",
  "http://127.0.0.1:0/hook",
  "--spawn",
  `exec env DATABASE=${join(folder, `${name}.db`)} FAULT=${fault} ${process.execPath} --no-warnings ${receiverProgram}`,
  "--port-env",
  "PORT",
  "--ready-url",
  "http://127.0.0.1:0/probe?id=none"
]

const probed = ["--level", "2", "--probe", "http://127.0.0.1:0/probe"]

describe("a spawned receiver", () => {
  it.live("is killed, paused and started again at level 3", () =>
    Effect.gen(function* () {
      const { exitCode, output, report } = yield* conformance(
        "run",
        ...started("durable"),
        ...probed.with(1, "3"),
        "--control-url",
        "http://127.0.0.1:0/control",
        "--deadline",
        "2s",
        "--only",
        "R-CRA-*,R-LATE-02",
        "--max-time",
        "60s"
      )
      assert.sameMembers(
        [...idsWith(report, "PASS")],
        ["R-CRA-01", "R-CRA-02", "R-CRA-03", "R-CRA-04", "R-LATE-02"],
        output
      )
      assert.strictEqual(exitCode, 0)
      assert.isTrue(report?.calibration.probe?.upperRangeVerified)
    })
  )

  it.live("is examined by doctor, which says what can be tested", () =>
    Effect.gen(function* () {
      const all = yield* conformance("doctor", ...started("doctor"), "--probe", "http:http://127.0.0.1:0/probe")
      assert.strictEqual(all.exitCode, 0, all.output)
      assert.match(all.output, /one event +1 \(expected 1\)/)
      assert.match(all.output, /not tried: --control-url/)
      assert.match(all.output, /Level 3 can be tested/)
      const less = yield* conformance("doctor", ...started("doctor"))
      assert.match(less.output, /no +effects of events +a probe \(--probe\) counts/)
      assert.match(less.output, /Level 1 can be tested: --level 1$/m)
      assert.notInclude(less.output, "Not observable:", "what a probe would prove at level 2 is passed at level 1")
      const written = yield* conformance("doctor", ...started("doctor"), "--report", "json=d.json")
      assert.strictEqual(written.exitCode, 3)
      assert.include(written.message, "--report: doctor writes no reports")
    })
  )

  it.live("is not started if the probe is unknown", () =>
    Effect.gen(function* () {
      const file = join(folder, "was-started")
      const { exitCode } = yield* conformance(
        "run",
        "--url",
        "http://127.0.0.1:0/hook",
        "--spawn",
        `touch ${file}`,
        "--probe",
        "htp:x"
      )
      assert.strictEqual(exitCode, 3)
      assert.isFalse(existsSync(file))
    })
  )

  it.live("has both of its URLs at the free port that the suite chose", () =>
    Effect.gen(function* () {
      const { exitCode, output, report } = yield* conformance(
        "run",
        ...started("urls"),
        "--url",
        "http://127.0.0.1:0/hook/other",
        ...probed,
        "--profile",
        "tenant",
        "--only",
        "R-DUP-08"
      )
      assert.deepStrictEqual([...idsWith(report, "PASS")], ["R-DUP-08"], output)
      assert.strictEqual(exitCode, 0, output)
    })
  )

  it.live("gets the default port of its scheme if its URL names none", () =>
    Effect.gen(function* () {
      const { exitCode, message } = yield* conformance(
        "run",
        "--url",
        "http://127.0.0.1/hook",
        "--spawn",
        'echo "port $PORT" >&2; exit 7',
        "--port-env",
        "PORT",
        "--ready-url",
        `http://127.0.0.1:${yield* deadPort}/`
      )
      assert.strictEqual(exitCode, 4)
      assert.include(message, "port 80")
    })
  )

  it.live("makes the command exit with 4 if something else already listens at its port", () =>
    Effect.gen(function* () {
      const other = yield* receiver((_, response) => answer(response, 200))
      const { exitCode, message } = yield* conformance("run", "--url", other.url, "--spawn", "exec sleep 60")
      assert.strictEqual(exitCode, 4)
      assert.match(
        message,
        /^--spawn: something already listens at \S+, .* port 0 in --url, and --port-env\. If it is a proxy /
      )
      assert.lengthOf(other.received, 0)
    })
  )

  it.live("makes the command exit with 4, with its last words, if it does not start", () =>
    Effect.gen(function* () {
      const { exitCode, message } = yield* conformance(
        "run",
        "--url",
        "http://127.0.0.1:0/hook",
        "--spawn",
        "echo no disk >&2; exit 7"
      )
      assert.strictEqual(exitCode, 4)
      assert.match(message, /--spawn ended with code \d+: .*no disk/)
    })
  )
})

describe("effects are counted", () => {
  /** Starts a receiver that writes a line for each effect. With `doubles`, a duplicate has another effect. */
  const logging = (file: string, doubles: boolean) => {
    const seen = new Set<string>()
    writeFileSync(file, "")
    return receiver(({ headers, method }, response) => {
      const id = String(headers["webhook-id"])
      if (method === "POST" && (doubles || !seen.has(id))) writeFileSync(file, `done ${id}\n`, { flag: "a" })
      seen.add(id)
      answer(response, 200)
    })
  }
  const only = ["--only", "R-DUP-02", "--level", "2"]
  /** Runs some requirements with a probe. */
  const counting = (url: string, ids: string, probe: string, ...more: ReadonlyArray<string>) =>
    conformance("run", "--url", url, "--level", "2", "--only", ids, "--settle", "1s", "--probe", probe, ...more)

  it.live.each([false, true])("in a log, where a duplicate has another effect: %s", (doubles) =>
    Effect.gen(function* () {
      const file = join(folder, `effects-${doubles}.log`)
      const target = yield* logging(file, doubles)
      const { exitCode, output } = yield* counting(target.url, "R-DUP-02", `log:${file}:^done (?<id>\\S+)$`)
      assert.strictEqual(exitCode, doubles ? 1 : 0, output)
    })
  )

  it.live("by a command that gets the id in its environment", () =>
    Effect.gen(function* () {
      const file = join(folder, "effects-exec.log")
      const target = yield* logging(file, true)
      const { exitCode, output } = yield* conformance(
        "run",
        "--url",
        target.url,
        "--only",
        "R-CRA-01,R-DUP-07,R-LATE-02,R-DUP-02",
        "--skip",
        "R-DUP-02",
        "--level",
        "2",
        "--settle",
        "1s",
        "--max-time",
        "60s",
        "--probe",
        `exec:grep -cw "done $EVENT_ID" ${file} || true`
      )
      assert.strictEqual(exitCode, 2, output)
      const wrong = yield* conformance("run", "--url", target.url, ...only, "--probe", "exec:echo many")
      assert.strictEqual(wrong.exitCode, 4, wrong.output)
      assert.match(wrong.message, /printed "many".*EVENT_ID and DATA_ID/)
    })
  )

  it.live("by a command that matches whole ids, but not by one that matches only their beginning", () =>
    Effect.gen(function* () {
      const file = join(folder, "effects-whole.log")
      const target = yield* logging(file, false)
      const probed = (probe: string) => counting(target.url, "R-NEW-01", `exec:${probe}`, "--max-time", "5m")
      const whole = yield* probed(`grep -cw "done $EVENT_ID" ${file}`)
      assert.deepStrictEqual([...idsWith(whole.report, "PASS")], ["R-NEW-01"], whole.output)
      const alike = yield* probed(`grep -c "done $EVENT_ID" ${file}`)
      assert.strictEqual(alike.exitCode, 4, alike.output)
      assert.match(
        alike.message,
        /effects = 1 for evt_\w+, which is only the beginning of an event's id\. .* whole ids: use grep -cw/
      )
    })
  )

  it.live("in a log for each of many events", () =>
    Effect.gen(function* () {
      const file = join(folder, "many.log")
      writeFileSync(file, "")
      const counts = new WeakMap<object, number>()
      let lost = ""
      const target = yield* receiver(({ duplicate, headers }, response, socket) => {
        const id = String(headers["webhook-id"])
        const count = (counts.get(socket) ?? 0) + 1
        counts.set(socket, count)
        // Only a case of hundreds of events sends 22 requests over one connection.
        if (count === 22 && lost === "") lost = id
        else if (!duplicate) writeFileSync(file, `done ${id}\n`, { flag: "a" })
        answer(response, 200)
      })
      const probe = `log:${file}:^done (\\S+)$`
      const { exitCode, output } = yield* counting(target.url, "R-LOS-01", probe, "--max-time", "5m")
      assert.strictEqual(exitCode, 1, output)
      assert.include(output, lost)
    })
  )

  /** Starts a receiver that logs `data.id` and recognises duplicates by `keyOf`. */
  const byDataId = (shown: (id: string) => void, keyOf: (type: string, id: string, webhookId: string) => string) => {
    const seen = new Set<string>()
    return receiver(({ body, headers, method }, response) => {
      // The ids of units and panels are shorter.
      const id = /"id":\s*(\d{6,})/.exec(body)?.[1] ?? ""
      const key = keyOf(/"resource_type":\s*"(\w+)"/.exec(body)?.[1] ?? "", id, String(headers["webhook-id"]))
      if (method === "POST" && !seen.has(key)) shown(id)
      seen.add(key)
      answer(response, 200)
    })
  }

  type KeyOf = (type: string, id: string, webhookId: string) => string
  const ways: ReadonlyArray<
    readonly [what: string, keyOf: KeyOf, shownAs: (id: string) => string | number, exitCode: number]
  > = [
    ["whole in the log, duplicates known by webhook-id", (_type, _id, webhookId) => webhookId, String, 0],
    ["rounded in the log", (_type, _id, webhookId) => webhookId, Number, 0],
    ["rounded in both", (type, id) => `${type} ${Number(id)}`, Number, 1]
  ]
  describe.concurrent("by data.id", () => {
    it.live.each(ways)("%s", ([what, keyOf, shownAs, expected]) =>
      Effect.gen(function* () {
        const file = join(folder, `${what}.log`)
        writeFileSync(file, "")
        const target = yield* byDataId((id) => writeFileSync(file, `done ${shownAs(id)}\n`, { flag: "a" }), keyOf)
        const { exitCode, output } = yield* counting(target.url, "R-NEW-01", `log:${file}:^done (\\d+)$`)
        assert.strictEqual(exitCode, expected, output)
      })
    )
  })

  it.live("by data.id alone, without reading events that have none", () =>
    Effect.gen(function* () {
      const file = join(folder, "effects-number.log")
      writeFileSync(file, "")
      const target = yield* byDataId(
        (id) => writeFileSync(file, `done ${id}\n`, { flag: "a" }),
        (_type, _id, webhookId) => webhookId
      )
      const probed = (probe: string) => counting(target.url, "R-FWD-01", `exec:${probe}`, "--max-time", "5m")
      // Fails like a database query for an id that is not a number.
      const { output, report } = yield* probed(
        `case "$DATA_ID" in ""|*[!0-9]*) echo "not a number: $DATA_ID" >&2; exit 1;; esac; grep -cw "done $DATA_ID" ${file}`
      )
      assert.deepStrictEqual([...idsWith(report, "PASS")], ["R-FWD-01"], output)
      const alike = yield* probed(`grep -c "done $DATA_ID" ${file}`)
      assert.strictEqual(alike.exitCode, 4, alike.output)
      assert.match(alike.message, /effects = \d for \d+, which is only the beginning of an event's id/)
    })
  )

  it.live("only by a probe that answers; without one the command exits with 4", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => answer(response, 200))
      const gone = yield* conformance(
        "run",
        "--url",
        target.url,
        ...only,
        "--probe",
        `http://127.0.0.1:${yield* deadPort}/probe`
      )
      assert.strictEqual(gone.exitCode, 4, gone.output)
      const wrong = yield* conformance("run", "--url", target.url, ...only, "--probe", target.url)
      assert.match(wrong.message, /It must answer GET \?id=/)
    })
  )
})

describe("a history that failed", () => {
  it.live("keeps its verdict if it can't be stored, and a message says what to do", () =>
    Effect.gen(function* () {
      const file = join(folder, "a-file")
      writeFileSync(file, "")
      const target = yield* receiver(({ duplicate }, response) => answer(response, duplicate ? 409 : 200))
      const run = (cases: string) =>
        conformance("run", "--url", target.url, "--cases", cases, "--only", "R-DUP-01", "--seed", "7")
      for (const [cases, why] of [
        [file, "it is a file, not a folder"],
        [join(file, "cases"), "a part of its path is a file, not a folder"]
      ] as const) {
        const { exitCode, output } = yield* run(cases)
        assert.strictEqual(exitCode, 1, output)
        const refusal = `could not be stored in ${cases}: ${why}. Name a writable folder with --cases, and run again with --seed 7.`
        assert.include(output.replaceAll(/\s+/g, " "), refusal)
      }
      const replay = (what: string, cases: string) => conformance("replay", what, "--url", target.url, "--cases", cases)
      const odd = join(folder, "odd.json")
      mkdirSync(odd)
      const unread = yield* replay(odd, folder)
      assert.strictEqual(unread.exitCode, 0)
      assert.match(unread.output, /odd\.json has no failures to replay/)
      const unlisted = yield* replay("R-DUP-01", file)
      assert.strictEqual(unlisted.exitCode, 3)
      assert.match(unlisted.message, /^--cases \S+: .* a part of its path is a file, not a folder\. Name the folder/)
    })
  )

  it.live("is stored, replayed and deleted when it no longer fails, and a baseline can list it", () =>
    Effect.gen(function* () {
      const cases = join(folder, "cases")
      let fixedIt = false
      const target = yield* receiver(({ duplicate }, response) => answer(response, duplicate && !fixedIt ? 409 : 200))
      const only = ["--url", target.url, "--cases", cases]
      const first = yield* conformance("run", ...only, "--only", "R-DUP-01")
      assert.strictEqual(first.exitCode, 1, first.output)
      const [file = ""] = readdirSync(cases)
      assert.match(file, /^R-DUP-01-[0-9a-f]{8}\.json$/)
      assert.notMatch(readFileSync(join(cases, file), "utf8"), /evt_[0-9a-z]/)
      const again = yield* conformance("replay", file.replace(".json", ""), ...only)
      assert.strictEqual(again.exitCode, 1, again.output)
      assert.include(again.output, "STILL FAILS")

      const baseline = join(folder, "baseline.txt")
      writeFileSync(baseline, "# known\nR-DUP-01\n")
      const known = yield* conformance("run", ...only, "--only", "R-DUP-01,R-HTTP-01", "--baseline", baseline)
      assert.strictEqual(known.exitCode, 0, known.output)
      const earlier = { requirements: ["FAIL", "PASS"].map((verdict) => ({ id: `R-${verdict}`, verdict })) }
      for (const [text, why] of [
        [
          '["R-HTTP-1"]',
          "R-HTTP-1 is no requirement. The file must list ids, on lines or as a JSON list, or be the JSON"
        ],
        [JSON.stringify(earlier), "R-FAIL is no requirement"]
      ] as const) {
        writeFileSync(baseline, text)
        for (const dry of [[], ["--dry-run"]]) {
          const misread = yield* conformance("run", ...only, ...dry, "--only", "R-DUP-01", "--baseline", baseline)
          assert.strictEqual(misread.exitCode, 3)
          assert.include(misread.message, `--baseline: ${why}`)
        }
      }
      writeFileSync(baseline, JSON.stringify(first.report))
      const reported = yield* conformance("run", ...only, "--only", "R-DUP-01,R-HTTP-01", "--baseline", baseline)
      assert.strictEqual(reported.exitCode, 0, reported.output)

      fixedIt = true
      const stale = yield* conformance("run", ...only, "--only", "R-DUP-01,R-HTTP-01", "--baseline", baseline)
      assert.strictEqual(stale.exitCode, 1, stale.output)
      assert.match(stale.message, /baseline is stale: R-DUP-01 passed/)
      const kept = yield* conformance("replay", join(cases, file), ...only, "--keep")
      assert.strictEqual(kept.exitCode, 0, kept.output)
      const fixed = yield* conformance("replay", join(cases, file), ...only)
      assert.include(fixed.output, "FIXED")
      assert.notInclude(readdirSync(cases), file)
      const unknown = yield* conformance("replay", "R-DUP-01-00000000", ...only)
      assert.strictEqual(unknown.exitCode, 3)
      const whole = yield* conformance("replay", "R-DUP-01", ...only)
      assert.strictEqual(whole.exitCode, 0, whole.output)
    })
  )
})
