/**
 * The operator's commands, and the settings of `doorhook serve`. The commands run in the test's process.
 * `Service.test.ts` tests how processes start and stop.
 */
import { assert, describe } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { join } from "node:path"
import { integrate } from "./harness/Delivering.ts"
import { live } from "./harness/Embedded.ts"
import { admin, directory, tokensOf } from "./harness/KnownDirectory.ts"
import { eventually } from "./harness/Eventually.ts"
import { runHere, serveHere } from "./harness/InProcess.ts"
import { endsWithoutAnswer } from "@doorhook/testkit/hostile/Catalogue"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import type { Behaviour } from "@doorhook/testkit/hostile/RawReceiver"
import { serve } from "@doorhook/testkit/hostile/RawReceiver"
import { hasExpired, isFromUnknownAuthority, isSelfSigned, speaksPlainHttp } from "@doorhook/testkit/hostile/Tls"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { callApi, discover, takeTokens } from "./harness/ThirdParty.ts"

const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } }

/** Starts a service on the `memory` database, with an integration for building 1 that sends to `receiver`. */
const withIntegration = Effect.fnUntraced(function* (receiver: string, ...more: ReadonlyArray<string>) {
  const { url } = yield* serveHere([
    "--database",
    "memory",
    "--directory",
    directory,
    "--allow-target",
    "127.0.0.0/8",
    ...more
  ])
  yield* integrate(url, receiver)
  const publish = Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/events", event))
  const withKey = { DOORHOOK_OPERATOR_KEY: operatorKey }
  /** Runs a command against the service. */
  const run = (...args: ReadonlyArray<string>) => runHere([...args, "--url", url], withKey)
  /** Runs a complete command that must succeed, and returns its output. */
  const printed = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
    const { code, stderr, stdout } = yield* runHere(args, withKey)
    assert.strictEqual(code, 0, stderr)
    return stdout
  })
  const print = (...args: ReadonlyArray<string>) => printed([...args, "--url", url])
  return { url, publish, run, print, printed }
})

describe("the operator's commands", () => {
  live("of settings create no database under a mistyped path", function* () {
    const file = join(yield* temporaryFolder, "mistyped.db")
    yield* runHere(["settings", "show", "--database", file])
    assert.isFalse(existsSync(file))
    const { code, stderr } = yield* runHere(["settings", "accept", "00000000", "--database", file])
    assert.isFalse(existsSync(file))
    assert.strictEqual(code, 1)
    assert.match(stderr, /No process has proposed settings/)
  })

  live("show integrations and set their overrides", function* () {
    const receiver = yield* startReceiver()
    const { print, run } = yield* withIntegration(receiver.url)
    const line = new RegExp(`^1 +enabled +- +building 1 +client c1 +${receiver.url}\n$`)
    assert.match(yield* print("integrations", "list"), line)
    const host = new URL(receiver.url).host
    assert.match(yield* print("integrations", "list", "--client", "c1", "--host", host), line)
    for (const other of [
      ["--client", "c2"],
      ["--host", "example.com"],
      ["--name", "x"]
    ]) {
      assert.strictEqual(yield* print("integrations", "list", ...other), "no such integrations\n")
      assert.match(yield* print("deliveries", "list", ...other), /^no such deliveries\ntotal: 0 such deliveries\n$/)
    }
    const named = yield* run("integrations", "list", "--host", "http://example.com")
    assert.match(named.stderr, /^doorhook: --host must be the host of a URL/)
    assert.strictEqual(yield* print("integrations", "list", "--status", "disabled"), "no such integrations\n")
    const set = ["integrations", "set", "1"]
    const shown = yield* print(...set, "--acknowledge", "2xx", "--retry", "access_log=5s,30s", "--retry", "call=")
    assert.match(shown, /^set: --acknowledge 2xx --retry (access_log=5s,30s|call=) --retry (access_log=5s,30s|call=)$/m)
    const kept = yield* print(...set, "--allow-target", "10.0.0.0/8", "--retry", "call=1s", "--json")
    const overrides = Schema.Struct({ overrides: Schema.Unknown })
    const read = Schema.decodeUnknownSync(overrides)
    assert.deepStrictEqual(read(JSON.parse(kept)).overrides, {
      acknowledge: "2xx",
      retry: { access_log: ["5s", "30s"], call: ["1s"] },
      allow_targets: ["10.0.0.0/8"]
    })
    assert.match(yield* print(...set, "--status", "disabled"), /^1: disabled \(manual\)$/m)
    assert.match(yield* print(...set, "--detail", "redacted"), /^detail: redacted$/m)
    // `--clear` takes no value, so the `1` after it is the integration's id.
    const values = ["--acknowledge", "200", "--status", "enabled"]
    const cleared = yield* print("integrations", "set", ...values, "--json", "--clear", "1")
    assert.deepStrictEqual(read(JSON.parse(cleared)).overrides, { acknowledge: "200" })
    const described = yield* print("integrations", "show", "1")
    assert.match(described, /^set: --acknowledge 200$/m)
    assert.match(described, /^created by user \S+, client c1$/m)
    assert.deepStrictEqual(JSON.parse(yield* print("integrations", "show", "--json", "1")), JSON.parse(cleared))
    const wrong = yield* run(...set, "--retry", "access_log=soon")
    assert.notStrictEqual(wrong.code, 0)
    assert.match(wrong.stderr, /^doorhook: --retry access_log must be a duration.*\n$/)
    assert.match((yield* run("integrations", "show", "9")).stderr, /There is no integration 9/)
  })

  live("import integrations, all or none, and only once", function* () {
    const receiver = yield* startReceiver()
    const { print, run } = yield* withIntegration(receiver.url)
    const file = join(yield* temporaryFolder, "partners.ndjson")
    const write = (...lines: ReadonlyArray<unknown>) =>
      Effect.promise(() =>
        writeFile(file, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"))
      )
    const bindings = [{ resource_type: "access_log", actions: ["create"] }]
    const partner = { user: admin.login, client: "c1", building: 1, url: `${receiver.url}/partner`, bindings }
    // More lines than one call takes, an empty one among them.
    const others = Array.from({ length: 90 }, (_, n) => ({ ...partner, url: `${receiver.url}/${n}` }))
    yield* write(partner, "", "{", { ...partner, user: "nobody", url: "ftp://a" }, ...others, {
      ...partner,
      building: 9
    })
    const wrong = yield* run("integrations", "import", file)
    assert.strictEqual(wrong.code, 3)
    assert.strictEqual(
      wrong.stderr,
      [
        "line 3: must be an object",
        "line 4: user must have a right to building 1, and the directory denies it",
        "line 4: url The URL must begin with http:// or https://.",
        "line 95: user must have a right to building 9, and the directory denies it",
        "doorhook: 4 problems; nothing was created\n"
      ].join("\n")
    )
    assert.match(yield* print("integrations", "list", "--host", "no.example"), /no such/)
    yield* write(partner, "", ...others)
    assert.strictEqual(
      yield* print("integrations", "import", file, "--check"),
      "91 lines checked, nothing was created\n"
    )
    const first = yield* print("integrations", "import", file)
    assert.match(first, /^line 1: integration 2 created, signing secret whsec_\S+\nline 3: integration 3 created/)
    assert.match(first, /\n91 integrations created, 0 existed already\n$/)
    // The building is full after eight more. What was created stays, and the next import continues.
    yield* write(partner, ...Array.from({ length: 9 }, (_, n) => ({ ...partner, url: `${receiver.url}/more/${n}` })))
    const full = yield* run("integrations", "import", file)
    assert.strictEqual(full.code, 1)
    assert.match(
      full.stdout,
      /^line 1: integration 2 exists already and stays as it is\nline 2: integration 93 created/
    )
    assert.match(full.stderr, /^line 10: The building 1 has reached the limit of 100 integrations/)
    assert.match(full.stderr, /\ndoorhook: 8 integrations created, then 1 problem\. Repeat the import/)
    assert.match(
      (yield* run("integrations", "import", `${file}.none`)).stderr,
      /^doorhook: \S+: there is no such file or folder\n$/
    )
  })

  live("explain which integrations got an event, and why the others did not", function* () {
    const receiver = yield* startReceiver()
    const { print, publish, run, url } = yield* withIntegration(receiver.url)
    const bindings = [{ resource_type: "call", actions: ["create"] }]
    const other = { user: admin.login, building: 1, url: `${receiver.url}/other`, bindings, name: "Doorbell" }
    yield* Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/integrations", other))
    const answer = yield* publish
    yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
    const [id = assert.fail("no event")] = /evt_[a-z0-9]+/.exec(yield* Effect.promise(() => answer.text())) ?? []
    yield* eventually("it is delivered", print("explain", id), (text) => text.includes("delivered"))
    const all = yield* print("explain", id)
    assert.match(all, /^access_log \(create\) of building 1, published \S+\nintegration 1\b.*: delivered \(dlv_1\)/)
    assert.match(all, /^integration 2 \(Doorbell\): no binding\. .* not bound to access_log \(create\)/m)
    assert.notMatch(yield* print("explain", id, "--integration", "2"), /^integration 1\b/m)
    const unknown = yield* run("explain", "7")
    assert.deepStrictEqual([unknown.code, unknown.stderr], [1, 'doorhook: "7" is not the id of an event (evt_...).\n'])
  })

  live("list notifications and probe what doorhook disabled", function* () {
    const receiver = yield* startReceiver((_, nth) => (nth === 1 ? 410 : 200))
    const { print, publish, run } = yield* withIntegration(receiver.url)
    assert.strictEqual(yield* print("notifications", "list"), "no notifications\n")
    const early = yield* run("integrations", "probe", "1")
    assert.deepStrictEqual([early.code, early.stdout], [1, ""])
    assert.match(
      early.stderr,
      /^doorhook: Only an integration that doorhook disabled \(gone, failing\) can be probed\. .*: npx doorhook deliveries recover 1 --since 3d --url http:\S+\n$/
    )
    yield* print("integrations", "set", "1", "--status", "disabled")
    const enable = "To enable it: npx doorhook integrations set 1 --status enabled --url http:\\S+\\n$"
    for (const command of ["probe", "test"]) {
      const refused = yield* run("integrations", command, "1")
      assert.strictEqual(refused.code, 1)
      assert.match(refused.stderr, new RegExp(enable), command)
    }
    yield* print("integrations", "set", "1", "--status", "enabled")
    yield* publish
    yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
    yield* eventually("it is disabled", print("integrations", "list", "--status", "disabled"), (text) =>
      /disabled \(gone\)/.test(text)
    )
    assert.match(yield* print("notifications", "list"), /^1 +\S+Z +disabled +integration 1 +building 1 +gone\n$/)
    assert.match(
      yield* print("integrations", "probe", "1"),
      /^delivery dlv_1 is being sent to integration 1, .*\nsee the outcome with: npx doorhook deliveries show dlv_1 --url http:\S+\n$/
    )
    yield* Effect.promise(() => receiver.until(({ length }) => length === 2))
    yield* eventually("the notification of the recovery", print("notifications", "list", "--after", "1"), (text) =>
      /recovered/.test(text)
    )
    assert.strictEqual(yield* print("notifications", "list", "--integration", "7"), "no notifications\n")
    assert.match(
      yield* print("deliveries", "list", "--state", "exhausted"),
      /^no such deliveries\ntotal: exhausted 0\n$/
    )
  })
})

/** Invalid arguments, with the one-line message that each must cause. */
const badInput: ReadonlyArray<readonly [args: ReadonlyArray<string>, message: RegExp]> = [
  [
    ["deliveries", "list", "--state", "lost"],
    /^doorhook: --state must be pending, .*, skipped, or several of them separated by commas\.\n$/
  ],
  [
    ["deliveries", "list", "--state", "delivered,exausted"],
    /^doorhook: --state must be .*; did you mean exhausted\?\n$/
  ],
  // A negative value is reported as a value, not as one-letter flags.
  [["integrations", "portal-link", "1", "--expires-in", "-1d"], /^doorhook: --expires-in must be a duration[^;]*\n$/],
  [
    ["deliveries", "list", "--limit", "many"],
    /: --limit: must be a number, not "many"\. See doorhook deliveries list --help/
  ],
  [["deliveries", "list", "--limit", "0"], /^doorhook: --limit must be a whole number from 1 to 1000/],
  [["deliveries", "show", "nope"], /<delivery>: must be the id of a delivery, like dlv_42, not "nope"/],
  [["deliveries", "recover", "1", "--since", "2999-01-01"], /^doorhook: --since must be in the past; 2999-01-01/],
  [["integrations", "show", "x"], /<integration>: must be the id of an integration, like 12, not "x"/],
  [
    ["integrations", "set", "1", "--retry", "call"],
    /^doorhook: retry \(--retry\): "call" must have the form RESOURCE=/
  ],
  [["integrations", "set", "1", "--acknowledge", "3xx"], /--acknowledge: must be "200" or "2xx", not "3xx"/],
  [["integrations", "portal-link", "1", "--expires-in", "9d"], /^doorhook: --expires-in must be from 1s to 24h/],
  [["notifications", "list", "--after", "x"], /^doorhook: --after must be /]
]

describe("doorhook deliveries", () => {
  live("shows which deliveries failed, why, and what to do", function* () {
    const statuses = [200, 302, 204, 429, 410]
    const receiver = yield* startReceiver((_, nth) => ({
      status: statuses[nth - 1] ?? 200,
      headers: statuses[nth - 1] === 302 ? { location: "/login?token=s3cret" } : {}
    }))
    const { print, printed, publish, run, url } = yield* withIntegration(receiver.url, "--retry", "access_log=1h")
    for (const [sent] of statuses.entries()) {
      yield* publish
      yield* Effect.promise(() => receiver.until(({ length }) => length > sent))
    }
    yield* eventually("it is cancelled", print("deliveries", "show", "dlv_5"), (text) =>
      text.startsWith("dlv_5: cancelled")
    )
    yield* publish

    const listed = (yield* print("deliveries", "list")).split("\n")
    const columns = listed.slice(0, 6).map((line) => line.replaceAll(/ +/g, " ").split(" integration 1 "))
    assert.deepStrictEqual(
      columns.map(([what, more]) => [what, more?.replace(/ created \d{4}-.*/, "")]),
      [
        ["dlv_1 delivered", "1 attempt acknowledged 200"],
        ["dlv_2 cancelled", "1 attempt bad_status 302"],
        ["dlv_3 cancelled", "1 attempt bad_status 204"],
        ["dlv_4 cancelled", "1 attempt bad_status 429"],
        ["dlv_5 cancelled", "1 attempt bad_status 410"],
        ["dlv_6 skipped", "0 attempts -"]
      ]
    )
    assert.strictEqual(listed[6], "total: delivered 1, cancelled 4, skipped 1")
    const newest = yield* print("deliveries", "list", "--newest", "--limit", "1", "--state", "cancelled")
    assert.match(newest, /^dlv_5 .*\nmore: --after dlv_5\ntotal: cancelled 4\n$/)
    const several = yield* print("deliveries", "list", "--state", "skipped,cancelled")
    assert.match(several, /^dlv_2 [^]*\ndlv_6 +skipped .*\ntotal: cancelled 4, skipped 1\n$/)
    const ofOne = yield* print("deliveries", "list", "--integration", "1", "--limit", "2")
    assert.match(ofOne, /\non this page: 2 such deliveries\n$/)

    const show = (id: number) => print("deliveries", "show", `dlv_${id}`)
    assert.match(yield* show(2), /^why: +The receiver answered 302: a redirect, .*another delivery with 410 Gone/m)
    assert.match(yield* show(2), /^ +1\. .* bad_status 302 after \d+ ms: points to http:\S+\/login$/m)
    assert.match(yield* show(5), /^why: +The receiver answered 410 Gone at \d{4}.*\nnext: .* disabled.*Probe it: /m)
    assert.match(
      yield* show(6),
      /^why: +The integration was disabled when the event was published.*\nnext: .*410 Gone\. Probe/m
    )

    // The suggested commands are complete and work when pasted into a shell.
    const [, ...commands] = /^do: ((?:.*npx doorhook .*\n)+)/m.exec(yield* show(6)) ?? []
    const words = (commands[0] ?? "").split("\n").map((line) => line.replace(/^.*npx doorhook /, "").split(" "))
    const [, enable = [], resend = [], recover = []] = words
    assert.deepStrictEqual(
      words.slice(0, 4).map((command) => command.slice(0, 3).join(" ")),
      ["integrations probe 1", "integrations set 1", "deliveries resend dlv_6", "deliveries recover 1"]
    )
    const disabled = yield* runHere(resend, { DOORHOOK_OPERATOR_KEY: operatorKey })
    assert.match(
      disabled.stderr,
      /^doorhook: The integration is disabled\. .*: npx doorhook integrations set 1 --status enabled --url \S+\n$/
    )
    assert.match(
      yield* run("integrations", "set", "1", "--retry", "ring=5s").pipe(Effect.map((ended) => ended.stderr)),
      /^doorhook: --retry ring is not a resource type; use call or access_log\.\n$/
    )
    assert.match(yield* printed(enable), /^1: enabled$/m)
    assert.match(yield* printed(recover), /^1 delivery since \d{4}-\S+Z will be sent; see .*: npx doorhook \S+ list /)
    yield* Effect.promise(() => receiver.until(({ length }) => length === 6))
    assert.match(
      yield* print("deliveries", "recover", "1", "--since", "1h"),
      /^4 deliveries since \d{4}-\S+Z will be sent/
    )
    yield* Effect.promise(() => receiver.until(({ length }) => length === 10))
    const wrong = yield* run("deliveries", "recover", "1", "--since", "yesterday")
    assert.deepStrictEqual([wrong.code, wrong.stdout], [3, ""])
    assert.match(
      wrong.stderr,
      /^doorhook: --since: must be a time .* or how long ago, like 2h or 3d, not "yesterday"\.\n$/
    )
    for (const [args, message] of badInput) {
      const { code, stderr, stdout } = yield* run(...args)
      assert.deepStrictEqual([code, stdout], [3, ""], args.join(" "))
      assert.match(stderr, message)
    }

    const withUrl = { DOORHOOK_OPERATOR_KEY: operatorKey, DOORHOOK_URL: url }
    const byVariable = yield* runHere(["integrations", "probe", "1"], withUrl)
    assert.include(byVariable.stderr, ` --url ${url}\n`)
    const flagWins = yield* runHere(["deliveries", "list", "--url", "http://127.0.0.1:1"], withUrl)
    assert.match(flagWins.stderr, /^doorhook: No answer from http:\/\/127\.0\.0\.1:1:/)
    const wrongVariable = yield* runHere(["deliveries", "list"], { ...withUrl, DOORHOOK_URL: "doors.example" })
    assert.strictEqual(wrongVariable.code, 3)
    assert.match(wrongVariable.stderr, /^doorhook: --url or DOORHOOK_URL: must be an http or https URL/)
    const listAt = (at: string) => runHere(["deliveries", "list", "--url", at], { DOORHOOK_OPERATOR_KEY: "wrong" })
    const nowhere = yield* listAt("localhost:4000")
    assert.deepStrictEqual([nowhere.code, nowhere.stdout], [3, ""])
    assert.match(
      nowhere.stderr,
      /^doorhook: --url or DOORHOOK_URL: must be an http or https URL .*, not "localhost:4000"\.\n$/
    )
    assert.match((yield* listAt("http://127.0.0.1:1")).stderr, /^doorhook: No answer from .*npx doorhook serve/)
    assert.match((yield* listAt(receiver.url)).stderr, /^doorhook: --url http:\S+: The server there is not a doorhook/)
    const stranger = yield* listAt(url)
    assert.strictEqual(stranger.code, 1)
    assert.match(
      stranger.stderr,
      /^doorhook: The service at http:\S+ rejects the operator key from DOORHOOK_OPERATOR_KEY\./
    )
  })
})

describe("a command", () => {
  live("explains by its cause why there is no encrypted connection to the service", function* () {
    const authority = makeAuthority()
    const certificates: Record<string, readonly [Behaviour, RegExp]> = {
      expired: [hasExpired(authority), /\(CERT_HAS_EXPIRED\)\. .*has expired/],
      selfSigned: [isSelfSigned(), /is self-signed\. .*NODE_EXTRA_CA_CERTS=FILE/],
      unknown: [isFromUnknownAuthority(), /authority .* is not known here\. .*NODE_EXTRA_CA_CERTS=FILE/],
      plain: [speaksPlainHttp, /does not speak HTTPS\. Use a URL with http:\/\//]
    }
    const listAt = (at: string) => runHere(["deliveries", "list", "--url", at], { DOORHOOK_OPERATOR_KEY: "key" })
    for (const [behave, message] of Object.values(certificates)) {
      const { url } = yield* serve(behave, { scheme: "https" })
      const { code, stderr } = yield* listAt(url)
      assert.strictEqual(code, 1)
      assert.match(stderr, message)
      assert.notInclude(stderr, "Start the service")
    }
    const { url } = yield* serve(endsWithoutAnswer, { scheme: "http" })
    assert.match((yield* listAt(url)).stderr, /without an answer\. If this port speaks HTTPS, use a URL with https/)
  })
})

describe("text from others", () => {
  live("can't control the operator's terminal, as a line or as JSON", function* () {
    const answer = "a\u001b]0;b\u0007c\u009b2Jd\u202ee"
    const receiver = yield* startReceiver(() => ({ status: 500, body: answer }))
    const { print, publish } = yield* withIntegration(receiver.url)
    yield* publish
    const shown = yield* eventually("it is attempted", print("deliveries", "show", "dlv_1"), (text) =>
      text.includes("bad_status 500")
    )
    assert.match(shown, /ms: a \]0;b c 2Jd e$/m)
    const json = yield* print("deliveries", "show", "dlv_1", "--json")
    assert.notMatch(json.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u)
    const Shown = Schema.Struct({ attempts: Schema.Array(Schema.Struct({ response_excerpt: Schema.String })) })
    assert.strictEqual(Schema.decodeUnknownSync(Shown)(JSON.parse(json)).attempts[0]?.response_excerpt, answer)

    const redirect = "https://beta.example/cb"
    yield* print("clients", "add", "--id", "beta", "--name", "Be\u202eta", "--redirect-uri", redirect)
    assert.match(yield* print("clients", "list"), /^beta +Be ta: /)
  })
})

describe("a server that is not doorhook", () => {
  live("counts as a failure whatever it answers, and a redirect is reported with its target", function* () {
    const shown = {
      id: "dlv_1",
      event_id: "evt_1",
      integration_id: "1",
      state: "exhausted",
      reason: null,
      attempts: [],
      next_attempt_at: null,
      created_at: "2026-03-02T00:00:00Z",
      explanation: { why: "", next: "", actions: [] }
    }
    const stranger = yield* startReceiver(({ method, path }) => {
      if (path.startsWith("/there/")) {
        const place = path.includes("clients") ? "https://login.example/?next=secret" : path.replace("there", "here")
        return { status: 302, headers: { location: place } }
      }
      return method === "GET" ? { status: 200, body: JSON.stringify(shown) } : { status: 200, body: "<h1>Welcome" }
    })
    const at = (url: string, ...args: ReadonlyArray<string>) =>
      runHere([...args, "--url", url], { DOORHOOK_OPERATOR_KEY: operatorKey })
    const said = (url: string, what: string) => ({
      code: 1,
      stdout: "",
      stderr: `doorhook: --url ${url}: The server there ${what} Give the address of the service.\n`
    })
    const here = stranger.origin
    const strange = "is not a doorhook of this version: it answered 200."
    assert.deepStrictEqual(yield* at(here, "deliveries", "resend", "dlv_1"), said(here, strange))
    assert.deepStrictEqual(yield* at(here, "clients", "remove", "beta"), said(here, strange))

    const there = `${here}/there`
    assert.deepStrictEqual(
      yield* at(there, "deliveries", "list", "--newest"),
      said(there, `redirects to ${here}/here.`)
    )
    assert.deepStrictEqual(
      yield* at(there, "clients", "remove", "beta"),
      said(there, "redirects to https://login.example.")
    )
    assert.isTrue(stranger.received.every(({ path }) => !path.startsWith("/here")))
  })
})

describe("doorhook clients", () => {
  live("registers clients, prints each secret only once, rotates secrets, and removes clients", function* () {
    const { print, run, url } = yield* withIntegration("http://127.0.0.1:9/hook")
    const redirect = "https://beta.example/cb"
    assert.match(yield* print("clients", "list"), /^no clients are registered/)
    const add = ["clients", "add", "--name", "Beta", "--redirect-uri", redirect]
    const added = yield* print(...add, "--id", "beta", "--redirect-uri", "urn:ietf:wg:oauth:2.0:oob")
    assert.match(added, /^client_id: +beta\nclient_secret: dh_cs_\S{43}\nThe secret is not shown again\..*\n$/)
    const first = /client_secret: (\S+)/.exec(added)?.[1] ?? ""
    const listed = yield* print("clients", "list")
    assert.match(listed, /^beta +Beta: https:\/\/beta\.example\/cb, urn:ietf:wg:oauth:2\.0:oob \(confidential\)\n$/)
    assert.notInclude(listed, first)

    const takes = (secret: string) =>
      Effect.promise(async () => {
        const config = await discover(url, "beta", secret)
        return takeTokens(config, redirect, admin.login, admin.password).then(
          ({ token_type }) => token_type,
          (error: unknown) => (error instanceof Error && "status" in error ? error.status : error)
        )
      })
    const Rotated = Schema.Struct({ client_secret: Schema.String })
    const rotated = yield* print("clients", "rotate", "beta", "--overlap", "1h", "--json")
    const second = Schema.decodeUnknownSync(Rotated)(JSON.parse(rotated)).client_secret
    assert.match(yield* print("clients", "list"), /old secret valid until \d{4}-/)
    assert.deepStrictEqual([yield* takes(first), yield* takes(second)], ["bearer", "bearer"])
    const third = /client_secret: (\S+)/.exec(yield* print("clients", "rotate", "beta", "--overlap", "0s"))?.[1]
    assert.deepStrictEqual([yield* takes(second), yield* takes(third ?? "")], [401, "bearer"])

    const open = yield* print(...add, "--public")
    assert.match(open, /^client_id: +client_\S+\nno secret: the client must use PKCE\n$/)
    assert.match(yield* print("clients", "remove", "beta"), /^deleted beta and all grants to it\n$/)
    assert.deepStrictEqual(yield* run("clients", "remove", "beta"), {
      code: 1,
      stdout: "",
      stderr:
        "doorhook: No client beta was registered with the service. Manage the directory's clients in the directory.\n"
    })
    const wrong = yield* run("clients", "add", "--name", "x", "--redirect-uri", "http://evil.example/")
    assert.deepStrictEqual([wrong.code, wrong.stdout], [3, ""])
    assert.match(wrong.stderr, /^doorhook: --redirect-uri must be .*\n$/)
    assert.notStrictEqual((yield* run("clients", "add", "--name", "x")).code, 0)
    assert.match((yield* run("clients", "rotate", "c1")).stderr, /Manage the directory's clients in the directory/)
  })
})

describe("doorhook grants", () => {
  live("lists and revokes a user's grants", function* () {
    const { print, run, url } = yield* withIntegration("http://127.0.0.1:9/hook")
    const user = ["--user", admin.login]
    assert.match(yield* print("grants", "list", ...user), /^grt_\S+ +\d{4}-\S+Z +c1 +Acme\n$/)
    assert.strictEqual(yield* print("grants", "list", "--user", "x"), "user x has no grants\n")
    yield* Effect.promise(() => tokensOf(url))
    const Listed = Schema.Struct({ grants: Schema.Array(Schema.Struct({ client_id: Schema.String })) })
    const listed = yield* print("grants", "list", ...user, "--json")
    assert.deepStrictEqual(Schema.decodeUnknownSync(Listed)(JSON.parse(listed)), {
      grants: [{ client_id: "c1" }, { client_id: "c1" }]
    })
    const revoke = ["grants", "revoke", ...user]
    assert.strictEqual(yield* print(...revoke, "--client", "c2"), "0 grants of user admin@example.com to c2 ended\n")
    assert.strictEqual(yield* print(...revoke, "--client", "c1"), "2 grants of user admin@example.com to c1 ended\n")
    yield* Effect.promise(() => tokensOf(url))
    assert.strictEqual(yield* print(...revoke), "1 grant of user admin@example.com ended\n")
    assert.deepStrictEqual(JSON.parse(yield* print(...revoke, "--json")), { grants: 0 })

    const nobody = yield* run("grants", "revoke", "--user", "")
    assert.deepStrictEqual([nobody.code, nobody.stdout], [3, ""])
    assert.match(nobody.stderr, /^doorhook: --user: must be the id of a user, .* not ""\n$/)
    const none = yield* run(...revoke, "--client", "")
    assert.deepStrictEqual([none.code, none.stderr], [3, 'doorhook: --client: must be the id of a client, not ""\n'])
    assert.match((yield* run("grants", "list", "--user", "a\0b")).stderr, /^doorhook: --user must be the id of a user/)
    assert.notStrictEqual((yield* run("grants", "revoke")).code, 0)
  })
})

/**
 * Sends pieces over a connection, one every 50 ms, until the server closes the connection. Returns the server's output.
 */
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

describe("an unreadable request", () => {
  live("is answered with the problem and a request id, like other requests", function* () {
    const { url } = yield* serveHere(["--database", "memory"])
    for (const [sent, status, code] of [
      ["GET / HTTP/1.1\r\nhost: x\r\nBAD HEADER\r\n\r\n", 400, "bad_request"],
      [`GET /${"x".repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 431, "head_too_long"],
      [`GET / HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(20_000)}\r\n\r\n`, 431, "head_too_long"]
    ] as const) {
      const [head = "", body = ""] = (yield* trickle(url, [sent])).split("\r\n\r\n")
      assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `))
      const id = /\r\nx-request-id: (req_[0-9a-f]{16})\r\n/.exec(head)?.[1]
      assert.deepInclude(JSON.parse(body), {
        errors: [{ ...JSON.parse(body).errors[0], id, status: String(status), code }]
      })
    }
    assert.strictEqual((yield* Effect.promise(() => fetch(`${url}/health/live`))).status, 200)
  })
})

describe("a service with deliberately slow clients", () => {
  live("waits for heads and bodies only as long as configured", function* () {
    const file = join(yield* temporaryFolder, "settings.json")
    // Each service has one short timeout. Its other timeout is too long to expire during the test.
    const serveWith = Effect.fnUntraced(function* (settings: object) {
      yield* Effect.promise(() => writeFile(file, JSON.stringify(settings)))
      return yield* serveHere(["--database", "memory", "--config", file])
    })
    const quickHeads = yield* serveWith({ headersTimeout: "300ms", bodyTimeout: "10m" })
    const quickBodies = yield* serveWith({ headersTimeout: "10m", bodyTimeout: "400ms" })
    const endless = Array.from({ length: 1_000 }, (_, n) => `x-${n}: y\r\n`)
    const post = "POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n"
    const drops = Array.from({ length: 1_000 }, () => "x")
    const [head, body] = yield* Effect.all(
      [
        trickle(quickHeads.url, ["GET /health/live HTTP/1.1\r\nhost: x\r\n", ...endless]),
        trickle(quickBodies.url, [`${post}content-length: 5000\r\n\r\n`, ...drops])
      ],
      { concurrency: "unbounded" }
    )
    assert.match(head, /^HTTP\/1\.1 408 /)
    assert.include(head, '"code":"request_timeout"')
    assert.match(body, /^HTTP\/1\.1 408 /)
    assert.include(body, '"error":"invalid_request"')
    assert.strictEqual((yield* Effect.promise(() => fetch(`${quickBodies.url}/health/live`))).status, 200)
    yield* Effect.promise(() => writeFile(file, JSON.stringify({ headersTimeout: "never" })))
    const wrong = yield* runHere(["serve", "--database", "memory", "--config", file])
    assert.strictEqual(wrong.code, 3)
    assert.match(wrong.stderr, /^doorhook: headersTimeout: "never" is not a duration/)
  })
})

describe("settings of a service", () => {
  const sourcesOf = (url: string) =>
    Effect.promise(async () =>
      Schema.decodeUnknownSync(Sources)(await (await fetch(`${url}/v4/webhook_sources`)).json())
    )
  const Sources = Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) })
  const idsOf = ({ data }: typeof Sources.Type) => data.map(({ id }) => id)

  live("come from a file, the environment and flags, and flags take precedence", function* () {
    const file = join(yield* temporaryFolder, "settings.json")
    const settings = { webhookSources: ["203.0.113.0/24"], retention: "forever", disableAfter: "1d", signing: "off" }
    yield* Effect.promise(() => writeFile(file, JSON.stringify(settings)))
    const args = ["--database", "memory", "--config", file]
    const environment = { DOORHOOK_WEBHOOK_SOURCES: "198.51.100.7, 2001:db8::/48" }
    const fromFile = yield* serveHere(args)
    const fromEnvironment = yield* serveHere(args, environment)
    const flags = ["--webhook-source", "192.0.2.1", "--webhook-source", "192.0.2.128/25", "--retention", "30d"]
    const fromFlags = yield* serveHere([...args, ...flags, "--disable-after", "2h"], environment)
    assert.deepStrictEqual(idsOf(yield* sourcesOf(fromFile.url)), ["203.0.113.0/24"])
    assert.deepStrictEqual(idsOf(yield* sourcesOf(fromEnvironment.url)), ["198.51.100.7/32", "2001:db8::/48"])
    assert.deepStrictEqual(idsOf(yield* sourcesOf(fromFlags.url)), ["192.0.2.1/32", "192.0.2.128/25"])
  })

  live("that are wrong are reported together, with suggestions, before the start", function* () {
    const folder = yield* temporaryFolder
    const file = join(folder, "settings.json")
    const settings = { lease: "long", databaseTimeout: "0s", trustedProxies: ["everywhere"] }
    yield* Effect.promise(() => writeFile(file, JSON.stringify(settings)))
    const flags = ["--ack-timeout", "soon", "--allow-target", "here", "--retry", "access_log"]
    flags.push("--port", "http", "--public-url", "doors", "--workers", "2", "--directory", folder)
    flags.push("--retention", "soon", "--disable-after", "0s", "--webhook-source", "203.0.113.7/24")
    const { code, stderr, stdout } = yield* runHere(["serve", "--config", file, ...flags], {
      DOORHOOK_ENCRYPTION_KEY: "swordfish"
    })
    assert.deepStrictEqual([code, stdout], [3, ""])
    assert.match(stderr, /^doorhook: [^\n]*\n$/)
    for (const name of [
      "retry (--retry):",
      "ackTimeout (--ack-timeout):",
      "allowTargets (--allow-target):",
      "retention (--retention):",
      "disableAfter (--disable-after):",
      "webhookSources (--webhook-source):",
      "lease:",
      "databaseTimeout:",
      "trustedProxies (--trusted-proxy):",
      'port (--port): must be a port, 0 to 65535, not "http"',
      "publicUrl (--public-url): must be an http or https URL",
      "workers (--workers): only PostgreSQL can be shared by several processes",
      "can't be read: it is a folder, not a file"
    ])
      assert.include(stderr, name)
    assert.match(stderr, /DOORHOOK_ENCRYPTION_KEY\): it has 9 characters and must have 32 or more\. .*openssl rand/)
    assert.notInclude(stderr, "swordfish")
    const below = yield* runHere(["serve", "--config", join(file, "settings.json")])
    assert.include(below.stderr, "can't be read: a part of its path is a file, not a folder")
    yield* Effect.promise(() => writeFile(file, JSON.stringify({ akcTimeout: "5s", databse: "x.db" })))
    const mistyped = yield* runHere(["serve", "--config", file])
    assert.match(mistyped.stderr, /akcTimeout: no such setting; did you mean ackTimeout\?/)
    assert.match(mistyped.stderr, /databse: no such setting; did you mean database\?/)
    yield* Effect.promise(() => writeFile(file, JSON.stringify({ ackTimeout: "5s", "ack-timeout": "6s" })))
    assert.match((yield* runHere(["serve", "--config", file])).stderr, /ackTimeout: is given more than once/)
    for (const command of ["serve", "worker", "migrate", "doctor"]) {
      const other = yield* runHere([command, "--database", "mysql://user:swordfish@db.example/x"])
      assert.strictEqual(other.code, 3, command)
      assert.match(
        other.stderr,
        /database \(--database\): mysql databases cannot be used; give a file, postgres:\/\/\.\.\., or memory\n$/
      )
      assert.notInclude(other.stderr, "swordfish")
    }
    const odd = { allowTargets: "10.0.0.0/8", signing: "yes", retry: { call: "5s" }, appearance: { nmae: "x" } }
    yield* Effect.promise(() => writeFile(file, JSON.stringify(odd)))
    const types = yield* runHere(["serve", "--config", file])
    for (const said of [
      ': allowTargets: must be a list like ["..."]',
      'signing: must be "hmac" or "ed25519" or "both" or "off"',
      'retry.call: must be a list like ["..."]',
      "appearance.nmae: is not known here"
    ]) {
      assert.include(types.stderr, said)
    }
  })

  live("that contradict each other, are repeated or empty are refused before anything is created", function* () {
    const folder = yield* temporaryFolder
    const file = join(folder, "settings.json")
    yield* Effect.promise(() => writeFile(file, JSON.stringify({ lease: "1s", host: "", operatorKey: "" })))
    const refused = [
      [["--config", file], /lease: must be more than ackTimeout \(5s\) .*; operatorKey .*it is empty.*; host .*not ""/],
      [["--ack-timeout", "0s"], /^doorhook: ackTimeout \(--ack-timeout\): must be more than 0, like 5s\n$/],
      [["--workers", "65"], /^doorhook: workers \(--workers\): must be a number of processes, 0 to 64, not "65"\n$/],
      [
        ["--retry", "door=5s"],
        /^doorhook: retry \(--retry\): "door" is not a resource type; use call or access_log\n$/
      ],
      [["--retry", "call=60s"], /^doorhook: retry\.call \(--retry\): delay 1 must be less than the lifetime of 45s/],
      [["--database", ""], /^doorhook: database \(--database\): must be a file, .* not ""\n$/],
      [["--host", ""], /^doorhook: host \(--host\): must be an address/],
      [["--operator-key", ""], /^doorhook: operatorKey \(--operator-key or DOORHOOK_OPERATOR_KEY\): it is empty/],
      [
        ["--operator-key", "x".repeat(31)],
        /^doorhook: operatorKey \(--operator-key or DOORHOOK_OPERATOR_KEY\): it has 31 characters and must have 32 or more\. Make one with: openssl rand -base64 32\n$/
      ],
      [
        ["--retry", "access_log=5s", "--retry", "access_log=6s"],
        /^doorhook: retry \(--retry\): access_log may be given only once\n$/
      ]
    ] as const
    const inMemory = { DOORHOOK_DATABASE: "memory" }
    for (const [flags, said] of refused) {
      const { code, stderr, stdout } = yield* runHere(["serve", "--port", "0", ...flags], inMemory)
      assert.deepStrictEqual([code, stdout], [3, ""], stderr)
      assert.match(stderr, said)
    }
    const list = yield* runHere(["deliveries", "list", "--operator-key", ""])
    assert.deepStrictEqual([list.code, list.stdout], [3, ""])
    assert.match(list.stderr, /operatorKey \(--operator-key .*it is empty/)
    for (const command of ["serve", "doctor", "deliveries list"]) {
      const blank = yield* runHere(command.split(" "), { ...inMemory, DOORHOOK_OPERATOR_KEY: " " })
      assert.strictEqual(blank.code, 3, command)
      assert.match(blank.stderr, /operatorKey .*it is empty/)
    }
    for (const command of [["serve", "--port", "0"], ["migrate"], ["doctor"]]) {
      const { code, stderr, stdout } = yield* runHere([...command, "--database", folder])
      assert.strictEqual(code, 1)
      assert.include(stderr + stdout, `Can't use ${folder}: it is a folder. Name a file in it`)
    }
    assert.isFalse(existsSync(`${folder}-lock`))
  })

  live(
    "an empty bearer token is never accepted as the key, and an empty DOORHOOK_OPERATOR_KEY is refused",
    function* () {
      const { stdout, url } = yield* serveHere(["--database", "memory"], { DOORHOOK_OPERATOR_KEY: "" })
      assert.match(stdout(), /operator key \(shown only now\): dhop_/)
      for (const authorization of ["Bearer", "Bearer ", "Bearer  ", "bearer \u00a0"]) {
        const answer = yield* Effect.promise(() => fetch(`${url}/operator/summary`, { headers: { authorization } }))
        assert.strictEqual(answer.status, 401)
      }
    }
  )

  live("a directory file with a misspelled member is used, with a warning", function* () {
    const file = join(yield* temporaryFolder, "directory.json")
    const client = { id: "c1", secrt: "mistyped-secret", name: "Acme", redirect_uris: ["https://client.example/cb"] }
    yield* Effect.promise(() => writeFile(file, JSON.stringify({ clients: [client], users: [] })))
    const { stderr } = yield* serveHere(["--database", "memory", "--directory", file])
    assert.match(
      stderr(),
      /^\d{4}-\S+Z WARN directory \S+: \/clients\/0\/secrt is unknown and was ignored; did you mean secret\?\n/
    )
    assert.notMatch(stderr(), /#\d+|mistyped-secret/)
  })

  live("set trusted proxies by flags or the environment, and exceptions for existing clients", function* () {
    const file = join(yield* temporaryFolder, "settings.json")
    const settings = { plainJson: true, createdStatus: 200, appearance: { name: "North Tower" } }
    yield* Effect.promise(() => writeFile(file, JSON.stringify(settings)))
    const args = ["--database", "memory", "--directory", directory, "--config", file]
    const page = "/oauth/authorize?response_type=code&client_id=c1&redirect_uri=https%3A%2F%2Fclient.example%2Fcb"
    /**
     * Guesses a client's secret from one address until the address is refused, then sends a request from another
     * address.
     */
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
    const trusting = yield* serveHere([...args, "--trusted-proxy", "127.0.0.0/8"])
    const byEnvironment = yield* serveHere(args, { DOORHOOK_TRUSTED_PROXIES: "10.0.0.0/8, 127.0.0.1" })
    const careful = yield* serveHere(args)
    assert.deepStrictEqual(
      [yield* guess(trusting.url), yield* guess(byEnvironment.url), yield* guess(careful.url)],
      [401, 401, 429]
    )
    const html = yield* Effect.promise(async () => (await fetch(careful.url + page)).text())
    assert.include(html, "North Tower")
    const refused = yield* Effect.promise(() => fetch(`${careful.url}/v4/buildings`))
    assert.strictEqual(refused.headers.get("content-type"), "application/json")
  })

  live("leave requests unsigned if the file says so", function* () {
    const file = join(yield* temporaryFolder, "settings.json")
    yield* Effect.promise(() => writeFile(file, JSON.stringify({ signing: "off" })))
    const receiver = yield* startReceiver()
    const { publish } = yield* withIntegration(receiver.url, "--config", file)
    yield* publish
    yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
    assert.notProperty(receiver.received[0]?.headers, "webhook-signature")
  })
})
