/**
 * URLs of PostgreSQL databases mean what they mean to libpq. A parameter without an effect is refused, and no message
 * repeats a secret.
 */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted, Result } from "effect"
import { readFileSync } from "node:fs"
import { PostgresUrl } from "@doorhook/sql"

const { nameOf, parse } = PostgresUrl

const read = (text: string, environment?: PostgresUrl.Environment) => Result.getOrThrow(parse(text, environment))

const problemsOf = (text: string, environment?: PostgresUrl.Environment): ReadonlyArray<string> =>
  Result.match(parse(text, environment), { onSuccess: () => [], onFailure: ({ problems }) => problems })

const places: Record<string, Readonly<Record<string, string | number>>> = {
  "postgres://db.internal/doors": { host: "db.internal", port: 5432, database: "doors" },
  "postgresql://u:p@db:6432/doors": { host: "db", port: 6432, user: "u", password: "p", database: "doors" },
  "postgres://": { host: "localhost", port: 5432 },
  "postgres:///doors?host=/var/run/postgresql": { host: "/var/run/postgresql", database: "doors" },
  // The form that Cloud SQL documents has a user and no host.
  "postgres://u:p@/doors?host=/cloudsql/p:r:i": {
    host: "/cloudsql/p:r:i",
    user: "u",
    password: "p",
    database: "doors"
  },
  "postgres://%2Fvar%2Frun%2Fpostgresql/doors": { host: "/var/run/postgresql", database: "doors" },
  "postgres://[::1]:5433/doors": { host: "::1", port: 5433 },
  "postgres://u%40corp:p%2F%3F%40@db/doors": { user: "u@corp", password: "p/?@" },
  "postgres://u:p:q@r@db/doors": { user: "u", password: "p:q@r" },
  "postgres://db/doors?user=u&password=a+b&port=5434&dbname=other": {
    user: "u",
    password: "a+b",
    port: 5434,
    database: "other"
  },
  "postgres://db/doors?hostaddr=10.0.0.7": { host: "db", address: "10.0.0.7" },
  "postgres://db/doors?options=endpoint%3Dep-1": { options: "endpoint=ep-1" }
}

const modes: ReadonlyArray<readonly [string, PostgresUrl.SslMode, PostgresUrl.Environment?]> = [
  ["", "prefer"],
  ...PostgresUrl.sslModes.map((mode) => [`sslmode=${mode}`, mode] as const),
  ["ssl=true", "require"],
  ["ssl=true&sslmode=verify-full", "verify-full"],
  ["sslrootcert=/ca.pem", "prefer"],
  ["sslrootcert=system", "verify-full"],
  ["", "require", { PGSSLMODE: "require" }],
  ["", "prefer", { PGSSLMODE: "" }],
  ["sslmode=disable", "disable", { PGSSLMODE: "require" }],
  ["", "verify-full", { PGSSLROOTCERT: "system" }]
]

const refused: Record<string, RegExp> = {
  "sslmod=require": /^sslmod is not a parameter of a PostgreSQL URL; did you mean sslmode\?$/,
  "sslMode=require": /did you mean sslmode\?$/,
  "sslrootcrt=/ca.pem": /did you mean sslrootcert\?$/,
  "pgbouncer=true": /^pgbouncer is not a parameter of a PostgreSQL URL; there are host, .*sslmode/,
  "sslmode=no-verify": /^sslmode must be disable, allow, prefer, require, verify-ca, verify-full$/,
  "sslmode=verify_full": /did you mean verify-full\?$/,
  "sslmode=": /^sslmode is empty/,
  "sslrootcert=": /^sslrootcert is empty: give a value, or leave it out$/,
  "ssl=no-verify": /^ssl must be true; for anything else give sslmode$/,
  "ssl=false": /^ssl must be true/,
  "ssl=true&sslmode=prefer": /^ssl=true contradicts sslmode=prefer/,
  "sslrootcert=system&sslmode=require": /use it with sslmode=verify-full/,
  "sslnegotiation=direct": /^sslnegotiation=direct needs sslmode=require/,
  "sslnegotiation=no": /^sslnegotiation must be postgres, direct$/,
  "ssl_min_protocol_version=1.2": /^ssl_min_protocol_version must be TLSv1, /,
  "channel_binding=require": /^channel_binding can't be used, because .*sslmode=verify-full/,
  "require_auth=scram-sha-256": /^require_auth can't be used/,
  "gssencmode=require": /^gssencmode can't be used/,
  "target_session_attrs=read-write": /^target_session_attrs can't be used: give one host/,
  "service=doors": /^service can't be used: write host/,
  "keepalives=1": /^keepalives can't be used: leave it out$/,
  "sslmode=require&sslmode=disable": /^sslmode is given twice$/,
  "connect_timeout=soon": /^connect_timeout must be a whole number from 0 to 86400$/,
  "port=0": /^port must be a whole number from 1 to 65535$/,
  "host=a,b": /several hosts can't be used/,
  sslmode: /^a parameter can't be read/,
  "sslkey=%zz": /^a parameter can't be read/,
  "application_name=%00": /^a parameter can't be read/,
  "listen=http://db": /^listen: must be written postgres:/,
  "listen=postgres%3A%2F%2Fdb%3Fsslmod%3Dx": /^listen: sslmod is not a parameter/,
  "listen=postgres%3A%2F%2Fdb%3Flocks%3Drows": /^listen: locks has no effect here: write it in the URL itself$/,
  "notify=false": /^notify must be on, off$/,
  "locks=row": /^locks must be advisory, rows; did you mean rows\?$/,
  "claim=skip": /^claim must be skip-locked, update/,
  "notify=off&listen=postgres%3A%2F%2Fdb": /^notify=off leaves no wake signals to listen for/
}

describe("the URL of a PostgreSQL database", () => {
  for (const [text, wanted] of Object.entries(places)) {
    it(`leads where libpq connects: ${text}`, () => {
      const url = read(text)
      assert.deepInclude({ ...url, password: url.password && Redacted.value(url.password) }, wanted)
    })
  }

  for (const [query, mode, environment] of modes) {
    it(`has sslmode ${mode} with "${query}" and ${JSON.stringify(environment ?? {})}`, () => {
      assert.strictEqual(read(`postgres://db/doors?${query}`, environment).tls.mode, mode)
    })
  }

  for (const [query, problem] of Object.entries(refused)) {
    it(`is refused with ${query}`, () => {
      const problems = problemsOf(`postgres://u:hidden@db/doors?${query}`)
      assert.lengthOf(problems, 1)
      assert.match(problems.join(), problem)
    })
  }

  it("reads everything about TLS, other limits, and a second server", () => {
    const text =
      "postgres://db/doors?sslmode=verify-ca&sslrootcert=ca.pem&sslcert=c.pem&sslkey=k.pem&sslpassword=s&sslcrl=r.pem&sslsni=0" +
      "&sslnegotiation=direct&ssl_min_protocol_version=tlsv1.3&ssl_max_protocol_version=TLSv1.3&channel_binding=prefer" +
      "&connect_timeout=3&application_name=doors&listen=postgres%3A%2F%2Fprimary%3A5433%2Fdoors%3Fsslmode%3Drequire"
    const { listen, tls, ...url } = read(text)
    const { keyPassword, ...files } = tls
    assert.deepStrictEqual(files, {
      mode: "verify-ca",
      rootCert: "ca.pem",
      cert: "c.pem",
      key: "k.pem",
      crl: "r.pem",
      negotiation: "direct",
      sni: false,
      minVersion: "TLSv1.3",
      maxVersion: "TLSv1.3"
    })
    assert.strictEqual(keyPassword === null ? null : Redacted.value(keyPassword), "s")
    assert.deepInclude(url, { connectTimeout: 3_000, applicationName: "doors" })
    assert.deepInclude(listen, { host: "primary", port: 5433, database: "doors" })
    assert.strictEqual(listen?.tls.mode, "require")
    assert.deepStrictEqual(read("postgres://db/doors?notify=off&claim=update").switches, {
      notify: "off",
      locks: null,
      claim: "update"
    })
    assert.strictEqual(read("postgres://db/doors?connect_timeout=0").connectTimeout, Infinity)
  })

  it("is refused with all problems at once, each with its parameter", () => {
    assert.deepStrictEqual(problemsOf("postgres://db/doors?ssl_mode=require&port=x&sslmode=full&connect_timeout=-1"), [
      "ssl_mode is not a parameter of a PostgreSQL URL; did you mean sslmode?",
      "connect_timeout must be a whole number from 0 to 86400",
      "port must be a whole number from 1 to 65535",
      "sslmode must be disable, allow, prefer, require, verify-ca, verify-full"
    ])
  })

  it("is refused without repeating a password that was not percent-encoded", () => {
    for (const text of [
      "postgres://u:se/cret@db/doors",
      "postgres://u:12/cret@db/doors",
      "postgres://u:se?cret=1@db/doors",
      "postgres://u:se%cret@db/doors",
      "postgres://u:p@cret/more@db/doors",
      "postgres://u:p@db?cret=1@db/doors",
      "postgres://u:cret@db:no/doors",
      "postgres:u:cret@db/doors",
      "postgres://db/doors?password=%cret",
      "postgres://u:cret@db/doors?sslmode=x&port=cret"
    ]) {
      const problems = problemsOf(text).join()
      assert.notStrictEqual(problems, "", text)
      assert.notInclude(problems, "cret", text)
    }
    assert.match(problemsOf("postgres://u:se/cret@db/doors").join(), /percent-encoded \(\/ as %2F/)
    assert.match(problemsOf("postgres://a,b:5433/doors").join(), /^several hosts can't be used/)
  })

  it("is read as documented for each provider", () => {
    const page = readFileSync(new URL("../../../../docs/scale-out.md", import.meta.url), "utf8")
    const urls = [...page.slice(page.indexOf("## Encrypt")).matchAll(/postgres:\/\/[^\s`]+/g)].map(([url]) => url)
    const seen = urls.map((url) => [
      new URL(url.replace("@/", "@socket/")).hostname.split(".").at(-2),
      read(url).tls.mode
    ])
    assert.deepStrictEqual(seen, [
      ["amazonaws", "verify-full"],
      ["0", "verify-ca"],
      [undefined, "prefer"],
      ["azure", "verify-full"],
      ["neon", "verify-full"],
      ["supabase", "verify-full"],
      ["pooler", "prefer"]
    ])
  })

  it("has a name without credentials", () => {
    assert.deepStrictEqual(
      [
        "postgres://u:p@db/doors?sslmode=require",
        "postgresql://u@[::1]:5433/a%2Fb",
        "postgres:///doors?host=/var/run/postgresql&password=p"
      ].map((text) => nameOf(read(text))),
      ["postgres://db/doors", "postgres://[::1]:5433/a%2Fb", "postgres:///doors?host=/var/run/postgresql"]
    )
  })

  it.effect("takes what it leaves out about TLS from libpq's variables", () =>
    Effect.gen(function* () {
      const from = (env: Record<string, string>, text = "postgres://db/doors") =>
        PostgresUrl.read(Redacted.make(text)).pipe(
          Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
        )
      const { tls } = yield* from({ PGSSLMODE: "verify-ca", PGSSLROOTCERT: "/ca.pem", PGSSLCERT: "/c", PGSSLKEY: "/k" })
      assert.deepInclude(tls, { mode: "verify-ca", rootCert: "/ca.pem", cert: "/c", key: "/k" })
      assert.strictEqual((yield* from({ PGSSLMODE: "require" }, "postgres://db?sslmode=disable")).tls.mode, "disable")
      const wrong = yield* Effect.flip(from({ PGSSLMODE: "ful", PGCHANNELBINDING: "require" }))
      assert.match(
        wrong.problems.join(),
        /^sslmode \(PGSSLMODE\) must be .*,channel_binding \(PGCHANNELBINDING\) can't/
      )
    })
  )
})
