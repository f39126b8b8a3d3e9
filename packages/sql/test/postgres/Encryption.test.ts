/**
 * Each `sslmode` encrypts, verifies, falls back and refuses as libpq documents it (PostgreSQL documentation, "SSL
 * Support", table "SSL Mode Descriptions"). `pg_stat_ssl` says whether the session is encrypted. Where `psql` is
 * installed, it must decide alike. Each refusal is explained by its cause.
 */
import { codeOf } from "@doorhook/core"
import { makeAuthority, makeSelfSigned } from "@doorhook/testkit/hostile/Certificates"
import { installedTools } from "@doorhook/testkit/postgres/ServerProcess"
import { setTls } from "@doorhook/testkit/postgres/ServerTls"
import type { ServerTls } from "@doorhook/testkit/postgres/ServerTls"
import { describeOnOwnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { spawnSync } from "node:child_process"
import { createPrivateKey } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createConnection, createServer } from "node:net"
import { networkInterfaces, tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe } from "vitest"
import { connect, exposureOf, layer, linkTo } from "../../src/postgres/PostgresDatabase.ts"
import { explain } from "../../src/postgres/PostgresFailure.ts"
import { inspect } from "../../src/postgres/PostgresInspection.ts"

const authority = makeAuthority()
const other = makeAuthority("Another authority")
const selfSigned = makeSelfSigned("127.0.0.1")
const client = authority.issue("certified")

const folder = mkdtempSync(join(tmpdir(), "doorhook-encryption-"))
const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text, { mode: 0o600 })
  return path
}
const ca = `sslrootcert=${file("ca.pem", authority.cert)}`
const otherCa = `sslrootcert=${file("other.pem", other.cert)}`
const own = `sslcert=${file("client.pem", client.cert)}&sslkey=${file("client.key", client.key)}`
const stranger = other.issue("certified")
const strange = `sslcert=${file("stranger.pem", stranger.cert)}&sslkey=${file("stranger.key", stranger.key)}`

const servers: Record<string, ServerTls["certificate"] | null> = {
  "no TLS": null,
  "a self-signed certificate": selfSigned,
  "a certificate of the authority": authority.issue("127.0.0.1"),
  "a certificate for another name": authority.issue("other.example"),
  "an expired certificate": authority.issue("127.0.0.1", "expired")
}

/** Logins that the server accepts only with, only without, or only with a certificate inside TLS. */
const hba = [
  "hostssl all encrypted all trust",
  "hostssl all plain all reject",
  "hostssl all certified all trust clientcert=verify-ca",
  "hostnossl all encrypted,certified all reject"
]

type Wanted = "plain" | "tls" | RegExp

const noTls = /the server offers no TLS, and sslmode=(require|verify-ca|verify-full) demands it/
const selfSignedText = /self-signed. Give that certificate's PEM file as sslrootcert/
const unknown = /from an authority that is not trusted/
const expired = /has expired. Renew it/
const wrongName = /for another host name/
const noRoot = /needs the authority of the server's certificate: give its PEM file as sslrootcert=FILE/

/** By server: parameters, what must happen, and the user. */
const table: Record<string, ReadonlyArray<readonly [string, Wanted, user?: string]>> = {
  "no TLS": [
    ["", "plain"],
    ["sslmode=disable", "plain"],
    ["sslmode=allow", "plain"],
    ["sslmode=prefer", "plain"],
    ["sslmode=require", noTls],
    ["ssl=true", noTls],
    [`sslmode=verify-ca&${ca}`, noTls],
    [`sslmode=verify-full&${ca}`, noTls]
  ],
  "a self-signed certificate": [
    ["sslmode=disable", "plain"],
    ["sslmode=allow", "plain"],
    ["sslmode=prefer", "tls"],
    ["sslmode=require", "tls"],
    [`sslmode=require&${ca}`, selfSignedText],
    [`sslmode=verify-ca&${ca}`, selfSignedText],
    [`sslmode=verify-full&${ca}`, selfSignedText]
  ],
  "a certificate of the authority": [
    ["", "tls"],
    ["ssl=true", "tls"],
    ["sslmode=disable", "plain"],
    ["sslmode=allow", "plain"],
    ["sslmode=prefer", "tls"],
    ["sslmode=require", "tls"],
    [ca, "tls"],
    [`sslmode=require&${ca}`, "tls"],
    [`sslmode=require&${otherCa}`, unknown],
    ["sslmode=verify-ca", noRoot],
    ["sslmode=verify-full", noRoot],
    [`sslmode=verify-ca&${ca}`, "tls"],
    [`sslmode=verify-full&${ca}`, "tls"],
    [`sslmode=verify-full&${otherCa}`, unknown],
    // The server refuses the login, and the other kind of connection is tried where the mode allows it.
    ["sslmode=disable", /pg_hba.conf/, "encrypted"],
    ["sslmode=allow", "tls", "encrypted"],
    ["sslmode=prefer", "tls", "encrypted"],
    ["sslmode=allow", "plain", "plain"],
    ["sslmode=prefer", "plain", "plain"],
    ["sslmode=require", /pg_hba.conf/, "plain"],
    ["sslmode=disable", /pg_hba.conf/, "certified"],
    ["sslmode=allow", /demands one.*client certificate/, "certified"],
    ["sslmode=prefer", /demands one.*client certificate/, "certified"],
    ["sslmode=require", /demands one.*client certificate/, "certified"],
    [`sslmode=allow&${own}`, "tls", "certified"],
    [`sslmode=prefer&${own}`, "tls", "certified"],
    [`sslmode=verify-full&${ca}&${own}`, "tls", "certified"],
    // The server refuses an unknown certificate for every user, after the handshake.
    [`sslmode=require&${strange}`, /refuses the client certificate/],
    [`sslmode=prefer&${strange}`, /refuses the client certificate/]
  ],
  "a certificate for another name": [
    ["sslmode=require", "tls"],
    [`sslmode=require&${ca}`, "tls"],
    [`sslmode=verify-ca&${ca}`, "tls"],
    [`sslmode=verify-full&${ca}`, wrongName]
  ],
  "an expired certificate": [
    ["sslmode=require", "tls"],
    [ca, "plain"],
    [`sslmode=require&${ca}`, expired],
    [`sslmode=verify-ca&${ca}`, expired],
    [`sslmode=verify-full&${ca}`, expired]
  ]
}

/** Connects, and returns whether the session is encrypted, or why there is none. */
const attempt = (url: string) =>
  Effect.gen(function* () {
    const link = yield* linkTo(Redacted.make(url))
    const sql = yield* connect(link, 1, { mode: "direct", settings: {} })
    const [row] = yield* sql.unsafe<{ readonly ssl: boolean }>(
      "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    )
    assert.strictEqual(link.last?.isEncrypted, row?.ssl)
    assert.isNull(exposureOf(link), "a connection of this machine")
    return row?.ssl === true ? ("tls" as const) : ("plain" as const)
  }).pipe(
    Effect.scoped,
    Effect.catchTag("SqlError", (error) => Effect.succeed(explain("the database", error))),
    Effect.catchTag("DatabaseUnusable", Effect.succeed),
    Effect.provide(Reactivity.layer)
  )

const tools = installedTools()
if (typeof tools === "string") process.stderr.write(`SKIPPED: comparison of sslmode with psql: ${tools}\n`)

/** Returns what libpq does; null without `psql`. */
const inPsql = (url: string): "plain" | "tls" | "refused" | null => {
  if (typeof tools === "string") return null
  const query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
  const env = { ...process.env, HOME: folder, PGCONNECT_TIMEOUT: "10" }
  const { status, stdout } = spawnSync(join(tools.folder, "psql"), [url, "-XAtc", query], { encoding: "utf8", env })
  if (status !== 0) return "refused"
  return stdout.trim() === "t" ? "tls" : "plain"
}

await describeOnOwnPostgres("encryption", (server) => {
  afterAll(() => rmSync(folder, { recursive: true }))

  const urlOf = (query: string, user = "postgres"): string => {
    const url = new URL(server.url("postgres"))
    return `postgres://${user}:password@${url.host}/postgres?${query}`
  }

  for (const [name, certificate] of Object.entries(servers)) {
    describe(`with ${name}`, () => {
      it("the server is set up", async () => {
        for (const user of ["encrypted", "plain", "certified"]) {
          await server.administer(
            `DO $$ BEGIN CREATE ROLE ${user} LOGIN PASSWORD 'password'; EXCEPTION WHEN duplicate_object THEN END $$`
          )
        }
        await setTls(server, certificate === null ? null : { certificate, authority: authority.cert }, hba)
        const [row] = await server.administer("SHOW ssl")
        assert.strictEqual(row?.["ssl"], certificate === null ? "off" : "on")
      })
      for (const [query, wanted, user] of table[name] ?? []) {
        const parameters = `"${query.replaceAll(`${folder}/`, "")}"${user === undefined ? "" : ` as ${user}`}`
        it.effect(`a connection with ${parameters} is ${String(wanted)}, as in libpq`, () =>
          Effect.gen(function* () {
            const found = yield* attempt(urlOf(query, user))
            if (wanted instanceof RegExp) {
              const { message } = typeof found === "string" ? assert.fail(found) : found
              assert.match(message, wanted)
              assert.notMatch(message, /Check that host and port|password@/)
            } else assert.strictEqual(typeof found === "string" ? found : found.message, wanted)
            const libpq = inPsql(urlOf(query, user))
            if (libpq !== null) assert.strictEqual(libpq, wanted instanceof RegExp ? "refused" : wanted, "psql")
          })
        )
      }
    })
  }

  describe("files", () => {
    const encrypted = (cipher: string) =>
      createPrivateKey(client.key).export({ type: "pkcs8", format: "pem", cipher, passphrase: "right" }).toString()
    const secretKey = file("secret.key", encrypted("aes-256-cbc"))
    /** One of about 256 wrong passwords decrypts to bytes with a valid padding. */
    const decryptsToOther = (passphrase: string): boolean => {
      try {
        void createPrivateKey({ key: readFileSync(secretKey), passphrase })
        return true
      } catch (error) {
        return !codeOf(error).includes("BAD_DECRYPT")
      }
    }
    const guesses = Array.from({ length: 10_000 }, (_, index) => `hush${index}`)
    const garbage = guesses.find(decryptsToOther) ?? assert.fail("no wrong password decrypts to other bytes")
    const cert = `sslcert=${file("client.pem", client.cert)}`
    const wrong: ReadonlyArray<readonly [string, RegExp]> = [
      ["sslmode=require&sslrootcert=/nowhere.pem", /sslrootcert: \/nowhere\.pem can't be read \(ENOENT\)/],
      [`sslmode=require&sslrootcert=${secretKey}`, /sslrootcert: .* has no PEM certificate/],
      [`sslmode=require&${cert}`, /sslcert is given without sslkey/],
      [`sslmode=require&sslkey=${secretKey}`, /sslkey is given without sslcert/],
      [`sslmode=require&${cert}&sslkey=${secretKey}`, /the key is encrypted\. Give its password as sslpassword/],
      [`sslmode=require&${cert}&sslkey=${secretKey}&sslpassword=hush`, /this password does not decrypt the key/],
      [`sslmode=require&${cert}&sslkey=${secretKey}&sslpassword=${garbage}`, /this password does not decrypt the key/],
      [`sslmode=require&${cert}&sslkey=${file("other.key", stranger.key)}`, /the key does not belong to the cert/],
      [`sslmode=require&${cert}&sslkey=${secretKey}&sslpassword=right`, /^tls$/],
      [`sslmode=verify-full&sslrootcert=system`, unknown]
    ]

    it("the server is set up", async () => {
      await setTls(server, { certificate: authority.issue("127.0.0.1"), authority: authority.cert }, hba)
      assert.deepStrictEqual(await server.administer("SHOW ssl"), [{ ssl: "on" }])
    })

    for (const [query, message] of wrong) {
      it.effect(`are explained: ${query.replaceAll(`${folder}/`, "").replace(garbage, "hush, to other bytes")}`, () =>
        Effect.gen(function* () {
          const found = yield* attempt(urlOf(query))
          const text = typeof found === "string" ? found : found.message
          assert.match(text, message)
          assert.notMatch(text, /hush|right/)
        })
      )
    }
  })

  const [here] = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.filter(({ family, internal }) => family === "IPv4" && !internal)
  )
  if (here === undefined)
    process.stderr.write("SKIPPED: connections to another address: this machine has only loopback\n")

  it.live.skipIf(here === undefined)("a connection to another address is a warning unless it is encrypted", () =>
    Effect.gen(function* () {
      const { address } = here ?? assert.fail("no address")
      const { port } = new URL(server.url("postgres"))
      const proxy = createServer((socket) => {
        const upstream = createConnection(Number(port), "127.0.0.1")
        socket.pipe(upstream).pipe(socket)
        for (const one of [socket, upstream]) one.on("error", () => undefined)
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => once(proxy.listen(0, address), "listening")),
        () => Effect.sync(() => proxy.close())
      )
      const bound = proxy.address()
      const at = bound !== null && typeof bound === "object" ? bound.port : 0
      const inspected = (query: string) =>
        inspect({ url: Redacted.make(`postgres://postgres:hush@${address}:${at}/postgres?${query}`) })
      const { encryption: plain } = yield* inspected("sslmode=disable")
      assert.strictEqual(plain?.isExposed, true)
      assert.match(plain?.detail ?? "", /^not encrypted: .*Use sslmode=verify-full/)
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const url = Redacted.make(`postgres://postgres:hush@${address}:${at}/postgres?sslmode=disable`)
      yield* Layer.build(Layer.fresh(layer({ url, maxConnections: 1 }))).pipe(Effect.scoped, Effect.provide(logger))
      assert.match(lines.join(), /^The connection to postgres:\/\/[\d.:]+\/postgres is not encrypted: /)
      // The connection for wake signals has the password, too.
      const signals = `postgres://postgres:hush@127.0.0.1:${port}/postgres?listen=${encodeURIComponent(Redacted.value(url))}`
      const { encryption: listening } = yield* inspect({ url: Redacted.make(signals) })
      assert.strictEqual(listening?.isExposed, true)
      assert.match(listening?.detail ?? "", /^listen=postgres:.* is not encrypted: /)
      lines.length = 0
      const both = Layer.fresh(layer({ url: Redacted.make(signals), maxConnections: 1 }))
      yield* Layer.build(both).pipe(Effect.scoped, Effect.provide(logger))
      assert.match(lines.join(), /^The connection to listen=postgres:\/\/[\d.:]+\/postgres is not encrypted: /)
      // The certificate is for another address, so TLS fails and the connection falls back.
      const { encryption: fallback } = yield* inspected(`sslmode=prefer&${otherCa}`)
      assert.match(fallback?.detail ?? "", /^not encrypted: .*TLS failed: /)
      const { encryption: tls } = yield* inspected("")
      assert.deepInclude(tls, { isExposed: false })
      assert.match(tls?.detail ?? "", /^TLS, but the server's certificate is not verified/)
      const { encryption: verified } = yield* inspected(`sslmode=verify-ca&${ca}`)
      assert.match(verified?.detail ?? "", /certificate is verified$/)
    })
  )
})
