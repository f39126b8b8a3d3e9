/**
 * The command as people and CI jobs call it: exit codes, reports and refusals.
 */
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, FileSystem } from "effect"
import { requirements } from "../src/requirements/Catalogue.ts"
import { conformance, idsWith, spawnConformance } from "./support/command.ts"
import { acknowledge, answer, deadPort, receiver } from "./support/receiver.ts"
import type { Received } from "./support/receiver.ts"

/** Waits until a condition is true. */
const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.sleep(5).pipe(Effect.repeat({ until: () => Effect.sync(condition) }), Effect.asVoid)

describe("the command as a process", () => {
  it.live("exits with 0 when everything passes, and prints the seed", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { ended } = yield* spawnConformance("run", "--url", target.url, "--seed", "3", "--only", "R-ACK-*")
      const { exitCode, output, report } = yield* ended
      assert.strictEqual(exitCode, 0, output)
      assert.strictEqual(report?.verdict, "pass")
      assert.include(output, "seed 3")
      assert.match(output, /\d+ PASS; \d+ attempts/)
    })
  )

  it.live("exits with 1 when a requirement fails, and explains it", () =>
    Effect.gen(function* () {
      const target = yield* receiver(({ duplicate }, response) =>
        answer(response, duplicate ? 409 : 200, "\u001b[31mseen")
      )
      const { ended } = yield* spawnConformance(
        "run",
        "--url",
        `${target.url}?token=hush`,
        "--seed",
        "3",
        "--only",
        "R-DUP-01"
      )
      const { exitCode, output } = yield* ended
      assert.strictEqual(exitCode, 1, output)
      assert.include(output, "FAIL  R-DUP-01")
      assert.match(output, /1\. sent {2}a new (?:access_log|call) event\n {7}got {3}200/)
      assert.match(output, /2\. sent {2}the same event again, .*\n {7}got {3}409.*: \[31mseen {3}<- here/)
      assert.match(output, /By hand {4}(?:for attempt in 1 2; do )?curl /)
      assert.match(output, /Again {6}npx doorhook conformance replay .*R-DUP-01-[0-9a-f]{8}.json.* --url .* --seed 3/)
      assert.include(output, "The receiver does not conform: R-DUP-01 failed.")
      assert.notInclude(output, "hush", "a query may be a secret")
      assert.notInclude(output, "\u001b", "an answer must not steer the terminal")
    })
  )

  it.live("exits with 130 when interrupted, with the report so far", () =>
    Effect.gen(function* () {
      const target = yield* receiver(({ index }, response) => (index < 8 ? answer(response, 202) : undefined))
      const { child, ended } = yield* spawnConformance("run", "--url", target.url, "--ack", "2xx")
      yield* Effect.raceFirst(
        until(() => target.received.length === 9),
        Effect.asVoid(ended)
      )
      child.kill("SIGINT")
      const { exitCode, output, report } = yield* ended
      assert.strictEqual(exitCode, 130, output)
      assert.strictEqual(report?.ended, "interrupted")
      assert.strictEqual(report?.verdict, "inconclusive")
      assert.include(output, "Interrupted")
      assert.include(idsWith(report, "INCONCLUSIVE"), "R-FWD-02")
    })
  )

  it.live("exits with 3 on an unknown flag", () =>
    Effect.gen(function* () {
      const { ended } = yield* spawnConformance("run", "--url", "http://127.0.0.1:9/", "--prob", "http://127.0.0.1:9/")
      const { exitCode, output } = yield* ended
      assert.strictEqual(exitCode, 3, output)
      assert.include(output, "--prob")
    })
  )
})

/** The flags of a run, unless a refusal has a URL of its own. */
const usual = ["--url", "http://127.0.0.1:9/"]

describe("the command refuses with exit code 3 and one line", () => {
  const refusals: ReadonlyArray<readonly [what: string, flags: ReadonlyArray<string>, says: RegExp]> = [
    [
      "a public address",
      ["--url", "http://93.184.216.34/hook"],
      /^93\.184\.216\.34 is not a loopback.*--i-own-this-target\.$/
    ],
    ["a documentation address", ["--url", "http://203.0.113.7/hook"], /--i-own-this-target/],
    ["the metadata address", ["--url", "http://169.254.169.254/"], /--i-own-this-target/],
    [
      "a text that is not a URL",
      ["--url", "localhost:9000"],
      /^--url: The URL must begin with http:\/\/ or https:\/\/\.$/
    ],
    ["a password in the URL", ["--url", "http://me:you@127.0.0.1/"], /user name or password/],
    ["level 2 without a probe", ["--level", "2"], /^--level 2 needs a probe: --probe http:URL/],
    ["level 3 without a probe", ["--level", "3"], /^--level 3 needs a probe/],
    [
      "level 3 without a hook",
      ["--level", "3", "--probe", "exec:true"],
      /needs a way to stop the receiver: --restart-cmd, --kill-cmd or --spawn/
    ],
    ["an unknown probe", ["--level", "2", "--probe", "sql:x"], /no such probe; write http:URL/],
    ["a log without an expression", ["--level", "2", "--probe", "log:x"], /log:FILE:REGEX/],
    ["a probe that is not a URL", ["--level", "2", "--probe", "https:"], /^--probe https: /],
    [
      "a third URL",
      ["--url", "http://127.0.0.1:9/1", "--url", "http://127.0.0.1:9/2", "--url", "http://127.0.0.1:9/3"],
      /^--url was given 3 times: .* exactly two/
    ],
    [
      "the same URL twice",
      ["--url", "http://127.0.0.1:9/hook", "--url", "http://127.0.0.1:9/hook", "--profile", "tenant"],
      /^--url was given twice with the same URL: the tenant profile needs /
    ],
    [
      "an unknown probe in a dry run",
      ["--dry-run", "--level", "2", "--probe", "sql:x"],
      /^--probe sql:x: there is no such probe; write http:URL/
    ],
    ...["restart", "kill", "pause", "resume", "advance"].map(
      (name) =>
        [
          `an empty command to ${name}`,
          [`--${name}-cmd`, " "],
          new RegExp(`^--${name}-cmd: the command is missing$`)
        ] as const
    ),
    ["an empty command to spawn", ["--spawn", ""], /^--spawn: the command is missing$/],
    ["an unknown profile", ["--profile", "fast"], /no such profile; use signed/],
    ["signed without a secret", ["--profile", "signed"], /needs the receiver's secret/],
    ["load without a rate", ["--profile", "load"], /needs --peak-rate/],
    ["clock without a hook", ["--profile", "clock"], /needs --advance-cmd/],
    ["tenant without a second URL", ["--profile", "tenant"], /needs a second --url/],
    ["a malformed rate", ["--peak-rate", "fast"], /write events a second like 50\/s/],
    ["a pause command without a resume command", ["--pause-cmd", "x"], /--pause-cmd and --resume-cmd go together/],
    ["a port variable without a spawned receiver", ["--port-env", "PORT"], /--port-env is for --spawn/],
    [
      "two ways to operate the receiver",
      ["--spawn", "x", "--pause-cmd", "y", "--resume-cmd", "z"],
      /^--spawn starts and stops the receiver itself: leave out .*--pause-cmd and --resume-cmd$/
    ],
    ["level 4", ["--level", "4"], /no such level/],
    ["an unknown report", ["--report", "pdf=x.pdf"], /unknown kind of report; accepted: json=FILE/],
    ["a report without a file", ["--report", "json"], /write json=FILE/],
    [
      "a report in a missing folder",
      ["--report", "json=/no/such/x.json"],
      /^--report json=\S+: expected a file that can be written; \S+: there is no such file or folder$/
    ],
    [
      "two reports in one file",
      ["--report", "json=both.json,html=./both.json"],
      /^--report html=\.\/both\.json: must not be the same file as --report json=both\.json$/
    ],
    [
      "a trace in the file of a report",
      ["--report", "json=both.json", "--trace", "both.json"],
      /^--trace both\.json: must not be the same file as --report json=both\.json$/
    ],
    ["a deadline too short to time", ["--deadline", "10ms"], /at least 200ms/],
    [
      "an --only with an unknown requirement",
      ["--only", "R-DUP-01,R-DPU-02"],
      /^--only: R-DPU-02 is no requirement; did you mean R-DUP-02\?$/
    ],
    [
      "a pattern with another wildcard than *",
      ["--only", "R-HTTP-0[23],R-DUP-01"],
      /^--only: R-HTTP-0\[23\] is no requirement; only \* is a wildcard, as in R-ACK-\*/
    ],
    [
      "a --skip that matches nothing",
      ["--skip", "R-NOPE-*"],
      /^--skip: R-NOPE-\* is no requirement; there are R-ACK-01, /
    ],
    [
      "a --skip with an unknown requirement in a dry run",
      ["--dry-run", "--skip", "R-DPU-02"],
      /^--skip: R-DPU-02 is no requirement; did you mean R-DUP-02\?$/
    ],
    [
      "a report that can't be written in a dry run",
      ["--dry-run", "--report", "json=/no/such/x.json"],
      /^--report json=\S+: expected a file that can be written/
    ],
    [
      "a public target in a dry run",
      ["--url", "http://192.0.2.1/", "--dry-run"],
      /^192\.0\.2\.1 is not a loopback or private address/
    ],
    ...["--ready-url", "--control-url", "--probe"].map(
      (flag) =>
        [
          `a URL in ${flag} that was copied from a report`,
          [flag, "http://127.0.0.1:9/?..."],
          new RegExp(`^${flag}.* http://\\S+: \\S+ stands for a query that reports leave out`)
        ] as const
    ),
    ["a negative seed", ["--seed=-1"], /--seed must be/],
    ["a malformed secret", ["--secret", "whsec_?"], /--secret \(or DOORHOOK_CONFORMANCE_SECRET\) must be/]
  ]
  it.live.each(refusals)("%s", ([, flags, says]) =>
    Effect.gen(function* () {
      const { exitCode, message } = yield* conformance("run", ...(flags.includes("--url") ? [] : usual), ...flags)
      assert.strictEqual(exitCode, 3, message)
      assert.match(message, says)
      assert.strictEqual(message.split("\n").length, 1)
    })
  )

  const misread: ReadonlyArray<readonly [what: string, flags: ReadonlyArray<string>]> = [
    ["a missing URL", []],
    ["a deadline that is not a duration", [...usual, "--deadline", "soon"]],
    ["an unknown way to acknowledge", [...usual, "--ack", "3xx"]]
  ]
  it.live.each(misread)("%s", ([, flags]) =>
    Effect.gen(function* () {
      const { exitCode } = yield* conformance("run", ...flags)
      assert.strictEqual(exitCode, 3)
    })
  )
})

describe("run", () => {
  it.live("exits with 4 when nothing listens", () =>
    Effect.gen(function* () {
      const { exitCode, message, report } = yield* conformance(
        "run",
        "--url",
        `http://127.0.0.1:${yield* deadPort}/hook`
      )
      assert.strictEqual(exitCode, 4)
      assert.include(message, "Nothing accepts connections")
      assert.strictEqual(report?.ended, "target_unusable")
      assert.strictEqual(report?.attempts, 0)
    })
  )

  it.live("notes a missing or wrong secret if every event is refused as not genuine", () =>
    Effect.gen(function* () {
      const target = yield* receiver((_, response) => answer(response, 401))
      const one = ["run", "--url", target.url, "--only", "R-ACK-01"]
      const unsigned = yield* conformance(...one)
      assert.include(
        unsigned.output,
        "Note: Every event was answered with 401, and the requests were not signed: the receiver may check signatures. Give its"
      )
      const signed = yield* conformance(...one, "--secret", "whsec_dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI=")
      assert.include(
        signed.output,
        "Note: Every event was answered with 401, although it was signed. Perhaps the receiver verifies"
      )
      const failed = yield* receiver(({ index }, response) => answer(response, index === 0 ? 401 : 500))
      const failing = yield* conformance("run", "--url", failed.url, "--only", "R-ACK-01,R-DUP-01")
      assert.include(failing.output, "Every event was answered with 401 or 500, and the requests were not signed")
      const doctor = yield* conformance("doctor", "--url", target.url, "--probe", "exec:echo 0")
      assert.strictEqual(doctor.exitCode, 4)
      assert.match(doctor.message, /^No event was acknowledged, .* --secret SECRET, or /)
      assert.notInclude(doctor.output, "can be tested")
    })
  )

  it.live("notes requirements in --only that need another level or profile, and tests the rest", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const only = "R-ACK-02,R-DUP-*,R-DUP-02,R-SIG-01"
      const { exitCode, message, output, report } = yield* conformance("run", "--url", target.url, "--only", only)
      assert.strictEqual(exitCode, 0, message)
      const wants = "They need more: R-DUP-02 (--level 2), R-SIG-01 (--profile signed)."
      assert.include(output, `Note: --only names requirements that this run does not test. ${wants}`)
      assert.include(report?.notes.join(" "), wants)
    })
  )

  it.live("keeps the queries of its URLs out of output, reports and traces", () =>
    Effect.gen(function* () {
      const target = yield* receiver(({ duplicate }, response) => answer(response, duplicate ? 409 : 200))
      const trace = `${yield* temporaryFolder}/trace.ndjson`
      const at = (path: string) => new URL(`${path}?key=hush`, target.url).href
      const urls = ["--url", at("/hook"), "--ready-url", at("/ready"), "--control-url", at("/control")]
      const probe = ["--probe", `http:${at("/probe")}`, "--level", "1"]
      const run = conformance("run", ...urls, ...probe, "--only", "R-DUP-01", "--trace", trace)
      const { exitCode, output, report } = yield* run
      assert.strictEqual(exitCode, 1, output)
      const { origin } = new URL(target.url)
      for (const flag of [
        `--probe 'http:${origin}/probe`,
        `--ready-url '${origin}/ready`,
        `--control-url '${origin}/c`
      ]) {
        assert.include(output, flag)
      }
      assert.include(
        report?.notes.join(" "),
        "URL queries may hold secrets and are left out. Before you run a command, replace"
      )
      const fs = yield* FileSystem.FileSystem
      for (const text of [output, JSON.stringify(report), yield* fs.readFileString(trace)])
        assert.notInclude(text, "hush")
    }).pipe(Effect.provide(NodePlatform.layer))
  )

  it.live("exits with 2 when nothing is selected", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const beyond = yield* conformance("run", "--url", target.url, "--only", "R-DUP-02,R-SIG-01")
      assert.strictEqual(beyond.exitCode, 2)
      assert.include(beyond.message, "R-DUP-02 (--level 2), R-SIG-01 (--profile signed)")
      assert.strictEqual(beyond.report?.verdict, "inconclusive")
      const skipped = yield* conformance("run", "--url", target.url, "--only", "R-DUP-01", "--skip", "r-dup-*")
      assert.strictEqual(skipped.exitCode, 2)
      assert.include(skipped.message, "--skip leaves out everything selected (R-DUP-01)")
      assert.deepStrictEqual(idsWith(skipped.report, "SKIPPED"), ["R-DUP-01"])
      const plan = yield* conformance("run", "--url", target.url, "--only", "R-HTTP-03", "--dry-run", "--seed", "1")
      assert.strictEqual(plan.exitCode, 0, plan.message)
      assert.include(plan.output, "R-HTTP-03  An event is acknowledged")
      assert.include(plan.output, "    a new access_log event, with expect: 100-continue")
      assert.strictEqual((yield* conformance("run", "--url", "nowhere", "--dry-run")).exitCode, 3)
      assert.strictEqual(target.received.length, 0)
    })
  )

  it.live("plans only cases that a run would send", () =>
    Effect.gen(function* () {
      const probed = ["--url", "http://127.0.0.1:9/hook", "--probe", "http://127.0.0.1:9/probe", "--dry-run"]
      const planned = (...flags: ReadonlyArray<string>) =>
        Effect.map(conformance("run", ...probed, ...flags), ({ exitCode, message, output }) => {
          assert.strictEqual(exitCode, 0, message)
          return output
        })
      const still = ["--only", "R-LATE-02", "--level", "2"]
      const held = "while the receiver is paused"
      const unheld = yield* planned(...still)
      assert.include(unheld, "  nothing: it can't be observed; --pause-cmd with --resume-cmd")
      assert.notInclude(unheld, held)
      assert.include(yield* planned(...still, "--pause-cmd", "true", "--resume-cmd", "true"), held)
      const offered = yield* planned(...still, "--control-url", "http://127.0.0.1:9/control")
      assert.match(offered, /\n {2}if the control URL offers it:\n[^]*while the receiver is paused/)
      const races = "copies each that end at the same moment"
      assert.include(yield* planned("--only", "R-DUP-04", "--level", "2"), races)
      assert.notInclude(yield* planned("--only", "R-DUP-04", "--level", "1"), races)
    })
  )

  it.live("tests what is selected, and the acknowledgement that it presumes", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const { exitCode, report } = yield* conformance(
        "run",
        "--url",
        target.url,
        "--only",
        "R-DUP-*,R-FWD-01",
        "--skip",
        "R-FWD-*"
      )
      assert.strictEqual(exitCode, 0)
      assert.deepStrictEqual(idsWith(report, "PASS"), ["R-DUP-01", "R-DUP-04"])
      assert.deepStrictEqual(idsWith(report, "SKIPPED"), ["R-FWD-01"])
      assert.strictEqual(report?.requirements.length, 3)
      const refusing = yield* receiver((_, response) => answer(response, 500))
      const presumed = yield* conformance("run", "--url", refusing.url, "--only", "R-DUP-01")
      assert.strictEqual(presumed.exitCode, 2)
      assert.include(presumed.report?.requirements[0]?.observed, "acknowledged no ordinary event")
    })
  )

  it.live("exits with 4 when the receiver goes away, and reports the results so far", () =>
    Effect.gen(function* () {
      const target = yield* receiver(({ index }, response, socket) => {
        if (index < 60) return response.end("ok")
        target.die()
        socket.destroy()
      })
      const { exitCode, message, report } = yield* conformance("run", "--url", target.url, "--only", "R-FWD-*,R-ACK-02")
      assert.strictEqual(exitCode, 4)
      assert.include(message, "in 3 tries")
      assert.strictEqual(report?.ended, "target_unusable")
      assert.include(idsWith(report, "INCONCLUSIVE"), "R-FWD-02")
      assert.deepStrictEqual(idsWith(report, "FAIL"), [], "nothing fails because the receiver is gone")
      assert.notStrictEqual(report?.verdict, "pass")
    })
  )

  it.live("ends within --max-time even if the receiver hangs", () =>
    Effect.gen(function* () {
      const target = yield* receiver(({ index }, response) => (index < 3 ? response.end("ok") : undefined))
      const [took, { exitCode, output, report }] = yield* Effect.timed(
        conformance("run", "--url", target.url, "--deadline", "1m", "--max-time", "3s")
      )
      assert.strictEqual(exitCode, 2)
      assert.match(
        output,
        /could not be decided within --max-time 3s\. Give the run more time, such as --max-time \S+\./
      )
      assert.strictEqual(report?.ended, "time_up")
      // Less than a deadline, because the end of the run gives up the hanging attempt.
      assert.isBelow(Duration.toMillis(took), 30_000)
    })
  )

  it.live("sends several requests at the same time to a receiver that is slow but in time", () =>
    Effect.gen(function* () {
      let open = 0
      let most = 0
      const target = yield* receiver((_, response) => {
        most = Math.max(most, ++open)
        setTimeout(() => {
          open--
          response.end("ok")
        }, 60)
      })
      const { exitCode, output } = yield* conformance("run", "--url", target.url, "--only", "R-FWD-01,R-HTTP-0*")
      assert.strictEqual(exitCode, 0, output)
      assert.isAbove(most, 3)
    })
  )

  it.live("sends the same histories for the same seed, with new ids", () =>
    Effect.gen(function* () {
      const target = yield* receiver(acknowledge)
      const shapeOf = ({ body }: Received): string =>
        body.replace(/("id":\s*)\d{9,11}\b/, "$10").replace(/("(?:guid|id|logged_at)":\s*)"[^"]+"/g, '$1""')
      const bodies = Effect.fnUntraced(function* (seed: string) {
        const before = target.received.length
        yield* conformance("run", "--url", target.url, "--seed", seed, "--only", "R-FWD-01")
        return target.received.slice(before)
      })
      const first = yield* bodies("5")
      const second = yield* bodies("5")
      const third = yield* bodies("6")
      // Requests of concurrent histories arrive in any order.
      assert.sameMembers(first.map(shapeOf), second.map(shapeOf))
      assert.notDeepEqual(first.map(shapeOf).toSorted(), third.map(shapeOf).toSorted())
      const ids = new Set(first.map(({ headers }) => headers["webhook-id"]))
      assert.isFalse(second.some(({ headers }) => ids.has(headers["webhook-id"])))
    })
  )

  it.live("takes the secret from a file or the environment", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* fs.makeTempDirectoryScoped()}/secret`
      yield* fs.writeFileString(file, "whsec_dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI=\n")
      const target = yield* receiver(({ headers }, response) =>
        answer(response, headers["webhook-signature"] === undefined ? 401 : 200)
      )
      const flags = ["--url", target.url, "--only", "R-ACK-02"]
      assert.strictEqual((yield* conformance("run", ...flags)).exitCode, 1)
      assert.strictEqual((yield* conformance("run", ...flags, "--secret-file", file)).exitCode, 0)
      const fromEnvironment = conformance("run", ...flags).pipe(
        Effect.provide(
          ConfigProvider.layer(
            ConfigProvider.fromUnknown({ DOORHOOK_CONFORMANCE_SECRET: "whsec_dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI=" })
          )
        )
      )
      assert.strictEqual((yield* fromEnvironment).exitCode, 0)
      const twice = yield* conformance("run", ...flags, "--secret-file", file, "--secret", "whsec_b3RoZXI=")
      assert.match(twice.message, /--secret or --secret-file, not both/)
    }).pipe(Effect.provide(NodePlatform.layer))
  )

  it.effect("refuses a report that can't be written, before anything is sent", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const { exitCode, message, output } = yield* conformance(
        "run",
        "--url",
        "http://127.0.0.1:9/",
        "--report",
        `json=${folder}`
      )
      assert.strictEqual(exitCode, 3)
      assert.strictEqual(output, "")
      assert.include(message, "expected a file that can be written; ")
    }).pipe(Effect.provide(NodePlatform.layer))
  )
})

describe("list and explain", () => {
  it.live("list each requirement on one line", () =>
    Effect.gen(function* () {
      const { exitCode, output } = yield* conformance("list")
      assert.strictEqual(exitCode, 0)
      assert.strictEqual(output.split("\n").length, requirements.length)
      assert.match(output, /R-DUP-01 +level 1 +MUST +Every further attempt/)
      assert.match(output, /R-SIG-01 +level 1, profile signed +MUST/)
    })
  )

  it.live("explain a requirement whose id is written in lower case", () =>
    Effect.gen(function* () {
      const { exitCode, output } = yield* conformance("explain", "r-dup-01")
      assert.strictEqual(exitCode, 0)
      assert.include(output, "R-DUP-01  (level 1, MUST)")
      assert.include(output, "the same event again, with the next attempt number, with a new timestamp and signature")
    })
  )

  it.live("refuse an unknown requirement", () =>
    Effect.gen(function* () {
      const { exitCode, message } = yield* conformance("explain", "R-DUP-99")
      assert.strictEqual(exitCode, 3)
      assert.match(message, /no such requirement; the ids are R-ACK-01/)
    })
  )
})
