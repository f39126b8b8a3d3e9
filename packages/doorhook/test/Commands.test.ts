/**
 * The commands for those who run a service, each a process of its own that calls the operator API.
 */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { startReceiver } from "./harness/Receiver.ts"
import { operatorKey, runDoorhook, startService, temporaryFolder } from "./harness/ServiceProcess.ts"
import { callApi, discover, integrationDocument, takeTokens } from "./harness/ThirdParty.ts"

const directory = fileURLToPath(new URL("harness/directory.json", import.meta.url))
const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } }

/** A service in memory with an integration of building 1 on a receiver. */
const withIntegration = Effect.fnUntraced(function* (receiver: string, ...more: ReadonlyArray<string>) {
  const { url } = yield* startService([
    "--database",
    "memory",
    "--directory",
    directory,
    "--allow-target",
    "127.0.0.0/8",
    ...more
  ])
  yield* Effect.promise(async () => {
    const config = await discover(url, "c1", "s1")
    const { access_token } = await takeTokens(config, "https://client.example/cb", "admin@example.com", "correct horse")
    const answer = await callApi(
      url,
      access_token,
      "POST",
      "/v4/buildings/1/integrations",
      integrationDocument(receiver)
    )
    assert.strictEqual(answer.status, 201)
  })
  const publish = Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/events", event))
  /** Runs a command against the service. */
  const run = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
    const { code, stderr, stdout } = yield* runDoorhook([...args, "--url", url], {
      DOORHOOK_OPERATOR_KEY: operatorKey
    })
    return { code, stderr, stdout }
  })
  /** Runs a command that must succeed, and answers what it prints. */
  const print = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
    const { code, stderr, stdout } = yield* run(...args)
    assert.strictEqual(code, 0, stderr)
    return stdout
  })
  return { url, publish, run, print }
})

const live = (name: string, body: Effect.Effect<void, unknown, Effect.Services<typeof temporaryFolder>>) =>
  it.live(name, () => Effect.scoped(body), 120_000)

describe("the operator's commands", () => {
  live(
    "show integrations and set what is particular to them",
    Effect.gen(function* () {
      const receiver = yield* startReceiver()
      const { print, run } = yield* withIntegration(receiver.url)
      const line = new RegExp(`^1 +enabled +building 1 +${receiver.url}\n$`)
      assert.match(yield* print("integrations", "list"), line)
      assert.strictEqual(yield* print("integrations", "list", "--status", "disabled"), "no such integrations\n")
      const set = ["integrations", "set", "1"]
      const shown = yield* print(...set, "--acknowledge", "2xx", "--retry", "access_log=5s,30s", "--retry", "call=")
      assert.match(
        shown,
        /^set: --acknowledge 2xx --retry (access_log=5s,30s|call=) --retry (access_log=5s,30s|call=)$/m
      )
      const kept = yield* print(...set, "--allow-target", "10.0.0.0/8", "--retry", "call=1s", "--json")
      const overrides = Schema.Struct({ overrides: Schema.Unknown })
      const read = Schema.decodeUnknownSync(overrides)
      assert.deepStrictEqual(read(JSON.parse(kept)).overrides, {
        acknowledge: "2xx",
        retry: { access_log: ["5s", "30s"], call: ["1s"] },
        allow_targets: ["10.0.0.0/8"]
      })
      assert.match(yield* print(...set, "--status", "disabled"), /^1: disabled \(manual\)$/m)
      const cleared = yield* print(...set, "--clear", "--acknowledge", "200", "--status", "enabled", "--json")
      assert.deepStrictEqual(read(JSON.parse(cleared)).overrides, { acknowledge: "200" })
      assert.match(yield* print("integrations", "show", "1"), /^set: --acknowledge 200$/m)
      const wrong = yield* run(...set, "--retry", "access_log=soon")
      assert.notStrictEqual(wrong.code, 0)
      assert.match(wrong.stderr, /^doorhook: --retry access_log must be a duration.*\n$/)
      assert.match((yield* run("integrations", "show", "9")).stderr, /There is no integration 9/)
    })
  )

  live(
    "list notices and probe what doorhook disabled",
    Effect.gen(function* () {
      const receiver = yield* startReceiver((_, nth) => (nth === 1 ? 410 : 200))
      const { print, publish, run } = yield* withIntegration(receiver.url)
      assert.strictEqual(yield* print("notices", "list"), "no notices\n")
      const early = yield* run("integrations", "probe", "1")
      assert.deepStrictEqual([early.code, early.stdout], [1, ""])
      assert.match(early.stderr, /Only an integration that doorhook disabled/)
      yield* publish
      yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
      yield* Effect.repeat(print("integrations", "list", "--status", "disabled"), {
        until: (text) => /disabled \(gone\)/.test(text)
      })
      assert.match(yield* print("notices", "list"), /^1 +\S+Z disabled +integration 1 +building 1 +gone\n$/)
      assert.match(
        yield* print("integrations", "probe", "1"),
        /^delivery dlv_1 is sent to integration 1; .*\nhow it ended: doorhook deliveries show dlv_1\n$/
      )
      yield* Effect.promise(() => receiver.until(({ length }) => length === 2))
      yield* Effect.repeat(print("notices", "list", "--after", "1"), { until: (text) => /recovered/.test(text) })
      assert.strictEqual(yield* print("notices", "list", "--integration", "7"), "no notices\n")
      assert.match(
        yield* print("deliveries", "list", "--state", "exhausted"),
        /^no such deliveries\nin all: exhausted 0\n$/
      )
    })
  )
})

describe("doorhook deliveries", () => {
  live(
    "says what was not delivered, why, and what to do",
    Effect.gen(function* () {
      const statuses = [200, 302, 204, 429, 410]
      const receiver = yield* startReceiver((_, nth) => statuses[nth - 1] ?? 200)
      const { print, publish, run, url } = yield* withIntegration(receiver.url, "--retry", "access_log=1h")
      for (const [sent] of statuses.entries()) {
        yield* publish
        yield* Effect.promise(() => receiver.until(({ length }) => length > sent))
      }
      yield* Effect.repeat(print("deliveries", "show", "dlv_5"), {
        until: (text) => text.startsWith("dlv_5: cancelled")
      })
      yield* publish

      const listed = (yield* print("deliveries", "list")).split("\n")
      const columns = listed.slice(0, 6).map((line) => line.replaceAll(/ +/g, " ").split(" integration 1 "))
      assert.deepStrictEqual(
        columns.map(([what, more]) => [what, more?.replace(/ \d{4}-.*/, "")]),
        [
          ["dlv_1 delivered", "1 attempt acknowledged 200"],
          ["dlv_2 cancelled", "1 attempt bad_status 302"],
          ["dlv_3 cancelled", "1 attempt bad_status 204"],
          ["dlv_4 cancelled", "1 attempt bad_status 429"],
          ["dlv_5 cancelled", "1 attempt bad_status 410"],
          ["dlv_6 skipped", "0 attempts -"]
        ]
      )
      assert.strictEqual(listed[6], "in all: delivered 1, cancelled 4, skipped 1")
      const newest = yield* print("deliveries", "list", "--newest", "--limit", "1", "--state", "cancelled")
      assert.match(newest, /^dlv_5 .*\nmore: --after dlv_5\nin all: cancelled 4\n$/)
      const ofOne = yield* print("deliveries", "list", "--integration", "1", "--limit", "2")
      assert.match(ofOne, /\non this page: 2 such deliveries\n$/)

      const show = (id: number) => print("deliveries", "show", `dlv_${id}`)
      assert.match(yield* show(2), /^why: +The receiver answered 302: a redirect, .*another delivery with 410 Gone/m)
      assert.match(
        yield* show(5),
        /^why: +The receiver answered 410 Gone at \d{4}.*\nnext: .* disabled.*Enable it, then/m
      )
      assert.match(
        yield* show(6),
        /^why: +The integration was disabled when the event came.*\nnext: .*410 Gone\. Enable/m
      )

      const disabled = yield* run("deliveries", "resend", "dlv_6")
      assert.match(
        disabled.stderr,
        /^doorhook: The integration is disabled\. .*: doorhook integrations set .*--status enabled\.\n$/
      )
      yield* print("integrations", "set", "1", "--status", "enabled")
      assert.match(
        yield* print("deliveries", "recover", "1", "--since", "1h"),
        /^5 deliveries since \d{4}-\S+Z: sent again\n$/
      )
      yield* Effect.promise(() => receiver.until(({ length }) => length === 10))
      const wrong = yield* run("deliveries", "recover", "1", "--since", "yesterday")
      assert.deepStrictEqual([wrong.code, wrong.stdout], [3, ""])
      assert.match(
        wrong.stderr,
        /^doorhook: --since: "yesterday" is neither a time .* nor how long ago, like 2h or 3d\.\n$/
      )
      assert.match((yield* run("deliveries", "list", "--state", "lost")).stderr, /^doorhook: --state must be pending, /)

      const stranger = yield* runDoorhook(["deliveries", "list", "--url", url], { DOORHOOK_OPERATOR_KEY: "wrong" })
      assert.strictEqual(stranger.code, 1)
      assert.match(
        stranger.stderr,
        /^doorhook: The service at http:\S+ refuses the operator key of DOORHOOK_OPERATOR_KEY\./
      )
    })
  )
})

describe("doorhook clients", () => {
  live(
    "registers clients whose secrets are printed once, gives them new ones, and ends them",
    Effect.gen(function* () {
      const { print, run, url } = yield* withIntegration("http://127.0.0.1:9/hook")
      const redirect = "https://beta.example/cb"
      assert.match(yield* print("clients", "list"), /^no clients are registered/)
      const add = ["clients", "add", "--name", "Beta", "--redirect-uri", redirect]
      const added = yield* print(...add, "--id", "beta", "--redirect-uri", "urn:ietf:wg:oauth:2.0:oob")
      assert.match(added, /^client_id: +beta\nclient_secret: dh_cs_\S{43}\nThe secret is shown only now\..*\n$/)
      const first = /client_secret: (\S+)/.exec(added)?.[1] ?? ""
      const listed = yield* print("clients", "list")
      assert.match(listed, /^beta +Beta: https:\/\/beta\.example\/cb, urn:ietf:wg:oauth:2\.0:oob \(confidential\)\n$/)
      assert.notInclude(listed, first)

      const takes = (secret: string) =>
        Effect.promise(async () => {
          const config = await discover(url, "beta", secret)
          return takeTokens(config, redirect, "admin@example.com", "correct horse").then(
            ({ token_type }) => token_type,
            (error: unknown) => (error instanceof Error && "status" in error ? error.status : error)
          )
        })
      const Rotated = Schema.Struct({ client_secret: Schema.String })
      const rotated = yield* print("clients", "rotate", "beta", "--overlap", "1h", "--json")
      const second = Schema.decodeUnknownSync(Rotated)(JSON.parse(rotated)).client_secret
      assert.match(yield* print("clients", "list"), /an older secret ends \d{4}-/)
      assert.deepStrictEqual([yield* takes(first), yield* takes(second)], ["bearer", "bearer"])
      const third = /client_secret: (\S+)/.exec(yield* print("clients", "rotate", "beta", "--overlap", "0s"))?.[1]
      assert.deepStrictEqual([yield* takes(second), yield* takes(third ?? "")], [401, "bearer"])

      const open = yield* print(...add, "--public")
      assert.match(open, /^client_id: +client_\S+\nno secret: it must use PKCE\n$/)
      assert.match(yield* print("clients", "remove", "beta"), /^beta and all that was granted to it have ended\n$/)
      assert.deepStrictEqual(yield* run("clients", "remove", "beta"), {
        code: 1,
        stdout: "",
        stderr: "doorhook: No client beta was registered with the service. Those of the directory are managed there.\n"
      })
      const wrong = yield* run("clients", "add", "--name", "x", "--redirect-uri", "http://evil.example/")
      assert.deepStrictEqual([wrong.code, wrong.stdout], [1, ""])
      assert.match(wrong.stderr, /^doorhook: --redirect-uri must be .*\n$/)
      assert.notStrictEqual((yield* run("clients", "add", "--name", "x")).code, 0)
      assert.match((yield* run("clients", "rotate", "c1")).stderr, /Those of the directory are managed there/)
    })
  )
})

/** Sends pieces over a connection, one every 50 ms, until the server closes it; answers what it says. */
const trickle = (url: string, pieces: ReadonlyArray<string>) =>
  Effect.callback<string>((resume) => {
    let said = ""
    const socket = connect(Number(new URL(url).port), "127.0.0.1")
    const rest = [...pieces]
    const timer = setInterval(() => void socket.write(rest.shift() ?? ""), 50)
    socket.on("data", (chunk: Buffer) => (said += chunk.toString()))
    socket.on("error", () => undefined)
    socket.on("close", () => {
      clearInterval(timer)
      resume(Effect.succeed(said))
    })
  })

describe("a service whose clients are slow on purpose", () => {
  live(
    "waits neither for heads nor for bodies longer than it is told",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "settings.json")
      yield* Effect.promise(() => writeFile(file, JSON.stringify({ headersTimeout: "300ms", bodyTimeout: "400ms" })))
      const { url } = yield* startService(["--database", "memory", "--config", file])
      const endless = Array.from({ length: 1_000 }, (_, n) => `x-${n}: y\r\n`)
      const [waited, head] = yield* Effect.timed(trickle(url, ["GET /health/live HTTP/1.1\r\nhost: x\r\n", ...endless]))
      assert.match(head, /^HTTP\/1\.1 408 /)
      // Long before the time is up that a whole request has.
      assert.isBelow(Duration.toMillis(waited), 4_000)
      const post = "POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n"
      const drops = Array.from({ length: 1_000 }, () => "x")
      const body = yield* trickle(url, [`${post}content-length: 5000\r\n\r\n`, ...drops])
      assert.match(body, /^HTTP\/1\.1 408 /)
      assert.include(body, '"error":"invalid_request"')
      assert.strictEqual((yield* Effect.promise(() => fetch(`${url}/health/live`))).status, 200)
      yield* Effect.promise(() => writeFile(file, JSON.stringify({ headersTimeout: "never" })))
      const wrong = yield* runDoorhook(["serve", "--database", "memory", "--config", file])
      assert.strictEqual(wrong.code, 3)
      assert.match(wrong.stderr, /^doorhook: headersTimeout: "never" is not a duration/)
    })
  )
})

describe("settings of a service", () => {
  const sourcesOf = (url: string) =>
    Effect.promise(async () =>
      Schema.decodeUnknownSync(Sources)(await (await fetch(`${url}/v4/webhook_sources`)).json())
    )
  const Sources = Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) })
  const idsOf = ({ data }: typeof Sources.Type) => data.map(({ id }) => id)

  live(
    "come from a file, the environment and flags, of which flags win",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "settings.json")
      const settings = { webhookSources: ["203.0.113.0/24"], retention: "forever", disableAfter: "1d", sign: false }
      yield* Effect.promise(() => writeFile(file, JSON.stringify(settings)))
      const args = ["--database", "memory", "--config", file]
      const environment = { DOORHOOK_WEBHOOK_SOURCES: "198.51.100.7, 2001:db8::/48" }
      const fromFile = yield* startService(args)
      const fromEnvironment = yield* startService(args, environment)
      const flags = ["--webhook-source", "192.0.2.1", "--webhook-source", "192.0.2.128/25", "--retention", "30d"]
      const fromFlags = yield* startService([...args, ...flags, "--disable-after", "2h"], environment)
      assert.deepStrictEqual(idsOf(yield* sourcesOf(fromFile.url)), ["203.0.113.0/24"])
      assert.deepStrictEqual(idsOf(yield* sourcesOf(fromEnvironment.url)), ["198.51.100.7/32", "2001:db8::/48"])
      assert.deepStrictEqual(idsOf(yield* sourcesOf(fromFlags.url)), ["192.0.2.1/32", "192.0.2.128/25"])
    })
  )

  live(
    "that are wrong are told all at once, with what was meant, before anything is started",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "settings.json")
      const settings = { lease: "long", databaseTimeout: "0s", trustedProxies: ["everywhere"] }
      yield* Effect.promise(() => writeFile(file, JSON.stringify(settings)))
      const flags = ["--ack-timeout", "soon", "--allow-target", "here", "--retry", "access_log"]
      const { code, stderr, stdout } = yield* runDoorhook(["serve", "--config", file, ...flags], {
        DOORHOOK_ENCRYPTION_KEY: "swordfish"
      })
      assert.deepStrictEqual([code, stdout], [3, ""])
      assert.match(stderr, /^doorhook: [^\n]*\n$/)
      for (const name of [
        "--retry:",
        "ackTimeout (--ack-timeout):",
        "allowTargets (--allow-target):",
        "lease:",
        "databaseTimeout:",
        "trustedProxies (--trusted-proxy):"
      ])
        assert.include(stderr, name)
      assert.match(stderr, /DOORHOOK_ENCRYPTION_KEY\): it has 9 characters and must have 32 or more\. .*openssl rand/)
      assert.notInclude(stderr, "swordfish")
      yield* Effect.promise(() => writeFile(file, JSON.stringify({ akcTimeout: "5s", databse: "x.db" })))
      const mistyped = yield* runDoorhook(["serve", "--config", file])
      assert.match(mistyped.stderr, /akcTimeout: no such setting; did you mean ackTimeout\?/)
      assert.match(mistyped.stderr, /databse: no such setting; did you mean database\?/)
    })
  )

  live(
    "a directory file with a mistyped member is used, and the member is told",
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "directory.json")
      const client = { id: "c1", secrt: "s1", name: "Acme", redirect_uris: ["https://client.example/cb"] }
      yield* Effect.promise(() => writeFile(file, JSON.stringify({ clients: [client], users: [] })))
      const { stderr } = yield* startService(["--database", "memory", "--directory", file])
      assert.match(
        stderr(),
        /^\d{4}-\S+Z WARN directory \S+: \/clients\/0\/secrt is not known and not read; did you mean secret\?\n/
      )
      assert.notMatch(stderr(), /#\d+|s1/)
    })
  )

  live(
    "say which proxies are trusted, by flags or by the environment, and how clients that differ are served",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "settings.json")
      const settings = { plainJson: true, createdStatus: 200, appearance: { name: "North Tower" } }
      yield* Effect.promise(() => writeFile(file, JSON.stringify(settings)))
      const args = ["--database", "memory", "--directory", directory, "--config", file]
      const page = "/oauth/authorize?response_type=code&client_id=c1&redirect_uri=https%3A%2F%2Fclient.example%2Fcb"
      /** Guesses a client's secret from one address until it is refused, then asks from another. */
      const guess = (url: string) =>
        Effect.promise(async () => {
          const ask = async (address: string) => {
            const body = new URLSearchParams({ client_id: "c1", client_secret: "guess", token: "x" })
            const headers = { "x-forwarded-for": address }
            return (await fetch(`${url}/oauth/introspect`, { method: "POST", headers, body })).status
          }
          while ((await ask("203.0.113.1")) === 401) continue
          return ask("203.0.113.2")
        })
      const trusting = yield* startService([...args, "--trusted-proxy", "127.0.0.0/8"])
      const byEnvironment = yield* startService(args, { DOORHOOK_TRUSTED_PROXIES: "10.0.0.0/8, 127.0.0.1" })
      const careful = yield* startService(args)
      assert.deepStrictEqual(
        [yield* guess(trusting.url), yield* guess(byEnvironment.url), yield* guess(careful.url)],
        [401, 401, 429]
      )
      const html = yield* Effect.promise(async () => (await fetch(careful.url + page)).text())
      assert.include(html, "North Tower")
      const refused = yield* Effect.promise(() => fetch(`${careful.url}/v4/buildings`))
      assert.strictEqual(refused.headers.get("content-type"), "application/json")
    })
  )

  live(
    "leave requests unsigned where the file says so",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "settings.json")
      yield* Effect.promise(() => writeFile(file, JSON.stringify({ sign: false })))
      const receiver = yield* startReceiver()
      const { publish } = yield* withIntegration(receiver.url, "--config", file)
      yield* publish
      yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
      assert.notProperty(receiver.received[0]?.headers, "webhook-signature")
    })
  )
})
