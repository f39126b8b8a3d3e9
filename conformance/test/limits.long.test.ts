/**
 * Receivers that limit requests, as a proxy in front of them does: a limit that they keep to is a WARN, whatever the
 * lane, the profile and the speed of the machine.
 */
import { freePort } from "@doorhook/testkit/ListeningServer"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { sample } from "@doorhook/testkit/Sample"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { awaitReady } from "../src/hooks/Hooks.ts"
import { httpProbe } from "../src/probes/Probe.ts"
import type { Report } from "../src/report/Report.ts"
import { limitsTo, stalls } from "./mutants/Base.ts"
import type { Change } from "./mutants/Base.ts"
import { inProcess } from "./mutants/Faults.ts"
import { assertRight } from "./support/right.ts"
import { run } from "./support/run.ts"

/** Requirements that send many events in a short time, and one whose result depends on every effect. */
const met = ["R-ACK-01", "R-LOS-01", "R-HTTP-06"]

const tested = (url: URL, origin: URL, more: Partial<Parameters<typeof run>[0]> = {}) =>
  run({
    url,
    probe: httpProbe(new URL("/probe", origin)),
    level: 2,
    only: met,
    settle: 3_000,
    maxTime: 90_000,
    pace: 0.1,
    seed: 1,
    ...more
  })

/** The requirement that reports a limit. */
const limitIn = ({ requirements }: Report): string =>
  requirements.find(({ verdict }) => verdict === "WARN")?.observed ?? ""

const withLimit = (rate: number, more: Partial<Parameters<typeof run>[0]> = {}, change = limitsTo({ rate })) =>
  Effect.flatMap(inProcess({ change, secret: null }), (origin) => tested(new URL("/hook", origin), origin, more))

/** The machines that a receiver runs on. */
const machines = { quiet: (change: Change) => change, stalling: stalls }

/** Rates on machines: some in each run, all with `DOORHOOK_WHOLE=1`. */
const limits = sample(
  [5, 40, 100, 400].flatMap((rate) => (["quiet", "stalling"] as const).map((machine) => ({ rate, machine }))),
  3
)

describe.concurrent("a limit", () => {
  it.live.each(limits)("of $rate requests a second on a $machine machine fails nothing", ({ machine, rate }) =>
    Effect.gen(function* () {
      const report = yield* withLimit(rate, {}, machines[machine](limitsTo({ rate })))
      assertRight(report, ["R-ACK-01"])
      assert.strictEqual(report.verdict, "pass", limitIn(report))
    })
  )
})

// These loads are not run beside others, because a late request would meet a limit that the declared rate keeps to.
describe("a limit", () => {
  it.live("that a burst beyond the declared peak rate meets is a WARN of the load", () =>
    Effect.gen(function* () {
      const report = yield* withLimit(40, { only: ["R-ACK-05"], profile: ["load"], peakRate: 20, pace: 1 })
      assert.deepStrictEqual(
        report.requirements.map(({ id, verdict }) => [id, verdict]),
        [["R-ACK-05", "WARN"]]
      )
      assert.match(limitIn(report), /^limits to about \d+ requests a second, asked for a pause of 1 s/)
    })
  )

  it.live("is never met at a rate below it (--max-rate)", () =>
    Effect.gen(function* () {
      const only = ["R-ACK-01", "R-ACK-05", "R-HTTP-06"]
      const report = yield* withLimit(40, { only, profile: ["load"], peakRate: 20, maxRate: 30, pace: 1 })
      assertRight(report, [])
      assert.isTrue(
        report.requirements.every(({ verdict }) => verdict === "PASS"),
        limitIn(report)
      )
    })
  )

  it.live("with a longer pause than the run can wait for leaves a requirement open, and says so", () =>
    Effect.gen(function* () {
      const origin = yield* inProcess({ change: limitsTo({ rate: 3, asks: "3600" }), secret: null })
      const report = yield* tested(new URL("/hook", origin), origin, { only: ["R-ACK-01"], maxTime: 20_000 })
      assert.notStrictEqual(report.requirements[0]?.verdict, "FAIL", report.requirements[0]?.observed)
    })
  )
})

const nginx = "/usr/sbin/nginx"
const hasNginx = existsSync(nginx)
if (!hasNginx) process.stderr.write(`skipped: receivers behind nginx, because ${nginx} is not installed\n`)

/** Starts nginx in front of a receiver until the scope ends. Returns its origin. */
const behindNginx = Effect.fnUntraced(function* (
  origin: URL,
  zone: string,
  limit: string
): Effect.fn.Return<URL, never, Scope.Scope | FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* Effect.orDie(fs.makeTempDirectoryScoped())
  const port = yield* Effect.promise(freePort)
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
  const config = `
${process.getuid?.() === 0 ? "user root;" : ""} daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
events {}
http {
  access_log off;
  ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ")}
  ${zone}
  server {
    listen 127.0.0.1:${port};
    location /hook { ${limit} proxy_pass ${origin.origin}; }
  }
}`
  yield* Effect.orDie(fs.writeFileString(`${folder}/nginx.conf`, config))
  const url = new URL(`http://127.0.0.1:${port}/hook`)
  yield* Effect.acquireRelease(
    Effect.sync(() => spawn(nginx, ["-c", `${folder}/nginx.conf`, "-p", folder], { stdio: "ignore" })),
    (child) =>
      Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            if (child.exitCode !== null) return resolve()
            child.once("exit", () => resolve())
            child.kill("SIGTERM")
          })
      )
  )
  yield* Effect.orDie(awaitReady(url, null))
  return url
})

describe.skipIf(!hasNginx)("a receiver behind nginx", { concurrent: true }, () => {
  const zone = "limit_req_zone $binary_remote_addr zone=all:1m rate=20r/s;"
  const byConnection = "limit_req_zone $connection zone=all:1m rate=10r/s;"
  const asks = "limit_req_status 429; add_header Retry-After 1 always;"
  // R-HTTP-09 leaves four requests unfinished, which must not stop the run once fewer requests are sent at once.
  const ofRate = [...met, "R-HTTP-09"]
  it.live.each([
    ["by address, with 429 and Retry-After", zone, `limit_req zone=all burst=5 nodelay; ${asks}`, ofRate],
    ["by address, with nginx's own 503", zone, "limit_req zone=all burst=5 nodelay;", ofRate],
    ["by connection", byConnection, `limit_req zone=all burst=2 nodelay; ${asks}`, ofRate],
    ["of two connections at once", "limit_conn_zone $binary_remote_addr zone=all:1m;", "limit_conn all 2;", met]
  ] as const)("that limits %s fails nothing", ([, declared, limit, only]) =>
    Effect.gen(function* () {
      const origin = yield* inProcess({ change: () => ({}), secret: null })
      const report = yield* tested(yield* behindNginx(origin, declared, limit), origin, { only })
      assertRight(report, ["R-ACK-01"])
      assert.strictEqual(report.verdict, "pass", limitIn(report))
    }).pipe(Effect.provide(NodePlatform.layer))
  )
})
