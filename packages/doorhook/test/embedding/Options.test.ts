/**
 * Options of `createDoorhook` from plain JavaScript. All problems are reported together.
 */
import { assert, describe, it, vi } from "@effect/vitest"
import { builtInTable, DurationText } from "@doorhook/core"
import { createDoorhook } from "doorhook"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import {
  codeOf,
  directory,
  event,
  integrate,
  live,
  mount,
  start,
  startIntegrated,
  untilInState
} from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { temporaryFolder } from "@doorhook/testkit/Process"

/** Returns the settings in a file, each with its comment. */
const settingsIn = (file: string): ReadonlyArray<readonly [name: string, comment: string]> => {
  const text = readFileSync(new URL(`../../src/config/${file}.ts`, import.meta.url), "utf8")
  return [...text.matchAll(/(?:\/\*\*((?:[^*]|\*(?!\/))*)\*\/\n)? {2}(\w+): Schema\.optional\(/g)].map(
    ([, comment = "", name = ""]) => [name, comment]
  )
}

describe("options", () => {
  it("are described, each with its default", () => {
    const settings = [...settingsIn("EngineConfig"), ...settingsIn("SurfaceConfig")]
    assert.isAbove(settings.length, 25)
    for (const [name, comment] of settings) assert.match(comment, /Default:?\s/, `the default of ${name}`)
    const [, retry = ""] = settings.find(([name]) => name === "retry") ?? []
    for (const [type, policy] of builtInTable) {
      const delays = policy.retry.delays.map((millis) => DurationText.format(millis)).join(", ")
      assert.include(retry, `\`${type}\` ${delays}`)
    }
  })

  live("that are wrong are reported together, with their name, the given type and the accepted values", function* () {
    const wrong: Parameters<typeof createDoorhook>[0] = {
      database: "memory",
      directory,
      ackTimeout: "soon",
      lease: "1 fortnight",
      retry: { access_log: ["5s", "later"], ring: ["1s"] },
      allowTargets: ["10.0.0.0/8", "home"],
      trustedProxies: ["proxy.internal"],
      bodyTimeout: "0s",
      webhookSources: ["192.0.2.0/240"],
      publicUrl: "doors.example",
      proxy: "not a URL"
    }
    const { code, message } = yield* codeOf(createDoorhook(wrong))
    assert.strictEqual(code, "invalid_config")
    for (const part of [
      /ackTimeout: "soon" is not a duration/,
      /lease: "1 fortnight" is not a duration/,
      /retry\.access_log: "later" is not a duration/,
      /retry: "ring" is not a resource type; use call or access_log/,
      /allowTargets: "home" is neither a network like 10.0.0.0\/8/,
      /trustedProxies: "proxy.internal" is neither a network/,
      /bodyTimeout: must be more than 0/,
      /webhookSources: "192.0.2.0\/240" is neither a network/,
      /publicUrl: must be an http or https URL without a query, like \S+, not "doors.example"/,
      /proxy: /
    ]) {
      assert.match(message, part)
    }
  })

  live("of the wrong type are reported with the given type", function* () {
    const given = {
      directory: { client: 5, buildings: [], session: "yes", authenticte: () => null, ownBusiness: true },
      onNotification: "call me",
      logger: {},
      telemetry: "yes",
      directry: {},
      ackTimeout: 5_000,
      catchUp: "yes",
      queueBytes: "32MiB",
      lease: "long"
    }
    const { message } = yield* codeOf(Reflect.apply(createDoorhook, undefined, [given]))
    for (const part of [
      "directory.client: must be a function, not 5",
      "directory.authenticate: must be a function, not undefined",
      "directory.buildings: must be a function or left out, not a list",
      "directory.session: must be a function or left out",
      'onNotification: must be a function or left out, not "call me"',
      "logger: must be an object with the methods info, warn, error, or false, not an object",
      'telemetry: must be true or false, not "yes"',
      "directory.authenticte: no such function; did you mean authenticate?",
      "directry: no such setting; did you mean directory?",
      "ackTimeout: must be a text, not a number",
      "catchUp: must be true or false",
      "queueBytes: must be a number, not a text",
      'lease: "long" is not a duration'
    ]) {
      assert.include(message, part)
    }
    assert.notInclude(message, "ownBusiness")
    assert.include((yield* codeOf(Reflect.apply(createDoorhook, undefined, []))).message, "directory")
  })

  live("that contradict each other, are empty or can't be sent in a header are refused", function* () {
    const folder = yield* temporaryFolder
    const refusals = [
      [{ database: "" }, 'database: must be a file, postgres://..., or memory, not ""'],
      [{ database: ":memory:" }, 'database: ":memory:" is not a file; for a database in memory, give memory'],
      [{ database: "data/" }, 'database: must be a file, postgres://..., or memory, not "data/"'],
      [{ operatorKey: "" }, "operatorKey: it is empty"],
      [{ operatorKey: "  " }, "operatorKey: it is empty"],
      [{ operatorKey: "x" }, "operatorKey: it has 1 character and must have 32 or more. Make one with: openssl rand"],
      [{ operatorKey: "x".repeat(31) }, "operatorKey: it has 31 characters and must have 32 or more"],
      [{ operatorKey: "schlüssel" }, "operatorKey: a header can't carry it"],
      [{ operatorKey: "key\n" }, "operatorKey: a header can't carry it"],
      [{ ackTimeout: "0s" }, "ackTimeout: must be more than 0"],
      [{ pollInterval: "0s" }, "pollInterval: must be more than 0"],
      [{ lease: "1s" }, "lease: must be more than ackTimeout (5s) plus 5s to record the result, not 1s"],
      [{ ackTimeout: "20s", lease: "25s" }, "lease: must be more than ackTimeout (20s)"],
      [{ ackTimeout: "30d" }, "ackTimeout: must be at most 1h, not 30d"],
      [{ lease: "2d" }, "lease: must be at most 1d, not 2d"],
      [
        { queueBytes: 1_000 },
        "queueBytes: must be a whole number of bytes, at least 262144 (the size of the largest event), not 1000"
      ],
      [{ waitingBytes: 1_000_000.5 }, "waitingBytes: must be a whole number of bytes, at least 262144"],
      [{ pollInterval: "25h" }, "pollInterval: must be at most 1d, not 25h"],
      [{ databaseTimeout: "61m" }, "databaseTimeout: must be at most 1h, not 61m"],
      [{ bodyTimeout: "1d" }, "bodyTimeout: must be at most 1h, not 1d"],
      [{ retention: "4000d" }, 'retention: "4000d" is not a duration of at most 3650d, or forever'],
      [{ disableAfter: "4000d" }, 'disableAfter: "4000d" is not a duration of at most 3650d'],
      [{ retry: { access_log: ["99999999d"] } }, 'retry.access_log: "99999999d" is not a duration of at most'],
      [{ retention: "soon" }, 'retention: "soon" is not a duration like 300ms, 5s, 2m, 1h or 3d, or forever'],
      [{ retention: "0s" }, "retention: must be more than 0"],
      [{ webhookSources: ["203.0.113.7/24"] }, 'webhookSources: "203.0.113.7/24" is neither a network'],
      [{ tokenRequestsPerMinute: 0 }, "tokenRequestsPerMinute: must be a whole number of at least 1, or unlimited"],
      [{ integrationsPerScope: 0 }, "integrationsPerScope: must be a whole number of at least 1, or unlimited"],
      [{ accessTokensPerGrant: 0 }, "accessTokensPerGrant: must be a whole number from 1, not 0"],
      [{ accessTokensPerGrant: 1.5 }, "accessTokensPerGrant: must be an integer, not 1.5"],
      [{ metricsKey: `two words ${"x".repeat(32)}` }, "metricsKey: a Bearer header can't carry it"],
      [{ appearance: { css: "</style><script>" } }, "appearance.css: must be CSS"],
      [{ appearance: { accent: "green" } }, "appearance.accent: must be a color like #0a7f5a"],
      [{ homeUrl: "javascript:alert(1)" }, "homeUrl: must be an http or https URL"],
      [
        { retry: { call: ["60s"] } },
        "retry.call: delay 1 must be less than the lifetime of 45s, not 1m: nothing would be retried"
      ]
    ] as const
    for (const [options, said] of refusals) {
      const { code, message } = yield* codeOf(createDoorhook({ database: "memory", directory, ...options }))
      assert.strictEqual(code, "invalid_config")
      assert.isTrue(message.startsWith(said), message)
    }
    const { code, message } = yield* codeOf(createDoorhook({ database: folder, directory }))
    assert.strictEqual(code, "database_unusable")
    assert.include(message, `${folder}: it is a folder. Name a file in it, like ${join(folder, "doorhook.db")}`)
    assert.isFalse(existsSync(`${folder}-lock`))
  })

  live("can name a logger, which gets doorhook's own lines", function* () {
    const lines: Array<string> = []
    // doorhook must call each function as a method of the logger, because loggers might keep state in `this`.
    const logger = {
      lines,
      write(level: string, line: string) {
        this.lines.push(`${level} ${line}`)
      },
      info(line: string) {
        this.write("info", line)
      },
      warn(line: string) {
        this.write("warn", line)
      },
      error(line: string) {
        this.write("error", line)
      }
    }
    const { doorhook } = yield* startIntegrated({ logger, retry: { access_log: [] } }, () => 500)
    yield* Effect.promise(() => doorhook.publish(event))
    yield* eventually(
      "a warning is logged",
      Effect.sync(() => lines.length),
      (count) => count > 0
    )
    assert.match(lines[0] ?? "", /^warn Integration 1 .*1 delivery was given up/)
  })

  live(
    "without an encryptionKey cause one warning; with one, the portal secret is encrypted at the start",
    function* () {
      const database = join(yield* temporaryFolder, "doorhook.db")
      const warnings: Array<string> = []
      const logger = { info: () => undefined, warn: (line: string) => warnings.push(line), error: () => undefined }
      const path = yield* Effect.scoped(
        Effect.gen(function* () {
          const doorhook = yield* start({ logger, database })
          const { url } = yield* mount(doorhook)
          yield* integrate(url, "http://127.0.0.1:9/hook")
          return new URL((yield* Effect.promise(() => doorhook.portalLink("1"))).url).pathname
        })
      )
      const secrets = () => {
        const file = new DatabaseSync(database, { readOnly: true })
        const setting = file.prepare("SELECT value FROM settings WHERE name = 'portal_secret'").get()
        const rows = file.prepare("SELECT signing_secret FROM integrations ORDER BY id").all()
        file.close()
        return [String(setting?.["value"]), ...rows.map(({ signing_secret }) => String(signing_secret))]
      }
      assert.lengthOf(warnings, 1)
      assert.match(
        warnings[0] ?? "",
        /encryptionKey: not set; signing secrets and the secret behind portal links are stored unencrypted .* openssl rand/
      )
      const [readable = ""] = secrets()
      assert.match(readable, /^[\w-]{43}$/)

      yield* start({ logger })
      const encryptionKey = "0123456789abcdefghijklmnopqrstuv"
      yield* Effect.scoped(
        Effect.gen(function* () {
          const doorhook = yield* start({ logger, database, encryptionKey })
          // The secret is encrypted at the start, not when a page is first opened.
          assert.match(secrets()[0] ?? "", /^sealed:/)
          const { url } = yield* mount(doorhook)
          const opened = yield* Effect.promise(() => fetch(url + path, { redirect: "manual" }))
          assert.strictEqual(opened.status, 403)
          yield* integrate(url, "http://127.0.0.1:9/hook")
          assert.match(secrets().at(-1) ?? "", /^sealed:/)
        })
      )
      assert.lengthOf(warnings, 1)
    }
  )

  live("can leave out the logger: standard error gets one warning for each probable misspelling", function* () {
    const lines: Array<string> = []
    const spy = vi.spyOn(console, "error").mockImplementation((line) => void lines.push(String(line)))
    yield* Effect.addFinalizer(() => Effect.sync(() => spy.mockRestore()))
    const doorhook = yield* start()
    for (const tenants of [[101], [102]]) {
      const mistyped = { ...event, tenants }
      yield* Effect.promise(() => doorhook.publish(mistyped))
    }
    const said = lines.filter((line) => line.includes("tenants"))
    assert.strictEqual(said.length, 1)
    assert.match(
      said[0] ?? "",
      /^\d{4}-\d\d-\d\dT[\d:.]+Z WARN publish: tenants is not a member .* mean tenant_ids\? This/
    )
  })

  for (const [how, fail] of [
    [
      "throws",
      () => {
        throw new Error("write after end")
      }
    ],
    ["rejects", () => Promise.reject(new Error("write after end"))]
  ] as const) {
    live(`still record deliveries with a logger that ${how}`, function* () {
      const { doorhook } = yield* startIntegrated(
        { logger: { info: fail, warn: fail, error: fail }, retry: { access_log: [] } },
        (_, nth) => (nth === 1 ? 500 : 200)
      )
      for (const state of ["exhausted", "delivered"]) {
        yield* Effect.promise(() => doorhook.publish(event))
        yield* untilInState(doorhook, state)
      }
    })
  }

  live("of two doorhooks in one process are separate, and so are their metrics", function* () {
    const metricsFor = "anyone"
    const [busy, idle] = [yield* start({ metricsFor }), yield* start({ metricsFor })]
    yield* Effect.promise(() => busy.publish(event))
    const accepted = (doorhook: Doorhook) =>
      Effect.promise(async () => {
        const metrics = await (await doorhook.fetch(new Request("http://localhost/metrics"))).text()
        const headers = { authorization: `Bearer ${doorhook.operatorKey}` }
        const figures = await doorhook.fetch(new Request("http://localhost/operator/stats", { headers }))
        return [
          /^doorhook_events_accepted_total\S* 1$/m.test(metrics),
          /"events_accepted":1\b/.test(await figures.text())
        ] as const
      })
    assert.deepStrictEqual(yield* accepted(busy), [true, true])
    assert.deepStrictEqual(yield* accepted(idle), [false, false])
    const atFirst = yield* Effect.promise(async () =>
      (await idle.fetch(new Request("http://localhost/metrics"))).text()
    )
    for (const series of [
      'doorhook_events_accepted_total{resource_type="call"}',
      'doorhook_attempts_total{resource_type="access_log",outcome="timeout"}',
      'doorhook_deliveries_ended_total{resource_type="call",state="expired"}',
      'doorhook_notifications_total{kind="disabled"}',
      "doorhook_stale_settlements_total",
      "doorhook_acknowledgement_latency_seconds_count"
    ]) {
      assert.include(atFirst.split("\n"), `${series} 0`, "a rate needs what was before the first")
    }
    // Publishing skips deliveries, and attempts never do. Therefore this series would always be 0 and mislead
    // readers.
    assert.notMatch(atFirst, /doorhook_deliveries_ended_total\S*state="skipped"/)
  })
})
