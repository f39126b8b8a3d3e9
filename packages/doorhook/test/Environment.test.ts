/**
 * Settings from the environment: every engine setting has a variable, for commands and Effect applications.
 */
import { assert, describe } from "@effect/vitest"
import { ConfigProvider, Effect, Schema } from "effect"
import { EngineConfig, fromEnvironment } from "doorhook/effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { live } from "./harness/Embedded.ts"
import { runHere, serveHere } from "./harness/InProcess.ts"
import { directory, tokensOf } from "./harness/KnownDirectory.ts"
import { callApi, integrationDocument } from "./harness/ThirdParty.ts"

const folder = mkdtempSync(join(tmpdir(), "doorhook-test-"))
const authorities = join(folder, "authorities.pem")
writeFileSync(authorities, makeAuthority().cert)
afterAll(() => rmSync(folder, { recursive: true }))

/** For each setting: its environment variable, a valid text, the value read from this text, and an invalid text. */
const settings: {
  readonly [Name in keyof EngineConfig]-?: readonly [
    variable: string,
    text: string,
    meaning: EngineConfig[Name],
    wrong: string
  ]
} = {
  database: ["DOORHOOK_DATABASE", "memory", "memory", "mysql://user:swordfish@db.example/x"],
  authorizationDatabase: [
    "DOORHOOK_AUTHORIZATION_DATABASE",
    "postgres://db.example/doorhook",
    "postgres://db.example/doorhook",
    "doorhook.db"
  ],
  allowTargets: ["DOORHOOK_ALLOW_TARGETS", "10.0.0.0/8, ::1", ["10.0.0.0/8", "::1"], "here"],
  retry: ["DOORHOOK_RETRY", "call=1s,2s;access_log=", { call: ["1s", "2s"], access_log: [] }, "call"],
  resourceTypes: [
    "DOORHOOK_RESOURCE_TYPES",
    '{"door_forced":{"retry":["1s"],"priority":"high"}}',
    { door_forced: { retry: ["1s"], priority: "high" } },
    '{"Door forced":{}}'
  ],
  callEnd: ["DOORHOOK_CALL_END", "on", true, "perhaps"],
  check: ["DOORHOOK_CHECK", "warn", "warn", "maybe"],
  deliver: ["DOORHOOK_DELIVER", "no", false, "perhaps"],
  maxDetail: [
    "DOORHOOK_MAX_DETAIL",
    '{"types":{"access_log":"redacted"}}',
    { types: { access_log: "redacted" } },
    "small"
  ],
  ackTimeout: ["DOORHOOK_ACK_TIMEOUT", "4s", "4s", "soon"],
  signing: ["DOORHOOK_SIGNING", "both", "both", "maybe"],
  notificationUrl: ["DOORHOOK_NOTIFICATION_URL", "https://ops.example/hook", "https://ops.example/hook", "ops.example"],
  notificationSecret: [
    "DOORHOOK_NOTIFICATION_SECRET",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "swordfish"
  ],
  retention: ["DOORHOOK_RETENTION", "forever", "forever", "long"],
  disableAfter: ["DOORHOOK_DISABLE_AFTER", "2d", "2d", "0s"],
  integrationsPerScope: ["DOORHOOK_INTEGRATIONS_PER_SCOPE", "20", 20, "none"],
  clientIsolation: ["DOORHOOK_CLIENT_ISOLATION", "yes", true, "some"],
  lease: ["DOORHOOK_LEASE", "30s", "30s", "long"],
  catchUp: ["DOORHOOK_CATCH_UP", "off", false, "maybe"],
  queueBytes: ["DOORHOOK_QUEUE_BYTES", "16777216", 16_777_216, "32MiB"],
  waitingBytes: ["DOORHOOK_WAITING_BYTES", "1048576", 1_048_576, "1000"],
  databaseTimeout: ["DOORHOOK_DATABASE_TIMEOUT", "3s", "3s", "0s"],
  acceptLostFrames: ["DOORHOOK_ACCEPT_LOST_FRAMES", "3", 3, "0"],
  pollInterval: ["DOORHOOK_POLL_INTERVAL", "2s", "2s", "often"],
  publicUrl: ["DOORHOOK_PUBLIC_URL", "https://doors.example", "https://doors.example", "doors"],
  operatorKey: ["DOORHOOK_OPERATOR_KEY", operatorKey, operatorKey, "\u00fc-swordfish"],
  encryptionKey: ["DOORHOOK_ENCRYPTION_KEY", "01234567".repeat(4), "01234567".repeat(4), "swordfish"],
  proxy: ["DOORHOOK_PROXY", "http://proxy.internal:3128", "http://proxy.internal:3128", "socks://swordfish"],
  caFile: ["DOORHOOK_CA_FILE", authorities, authorities, "nowhere.pem"],
  noProxy: ["DOORHOOK_NO_PROXY", "127.0.0.1 example.com", ["127.0.0.1", "example.com"], "a..b"],
  webhookSources: ["DOORHOOK_WEBHOOK_SOURCES", "192.0.2.1", ["192.0.2.1"], "everywhere"],
  trustedProxies: ["DOORHOOK_TRUSTED_PROXIES", "10.0.0.1,10.0.0.2", ["10.0.0.1", "10.0.0.2"], "everyone"],
  browserOrigins: ["DOORHOOK_BROWSER_ORIGINS", "https://app.example", ["https://app.example"], "https://app.example/"],
  bodyTimeout: ["DOORHOOK_BODY_TIMEOUT", "9s", "9s", "0s"],
  metricsFor: ["DOORHOOK_METRICS_FOR", "anyone", "anyone", "nobody"],
  homeUrl: ["DOORHOOK_HOME_URL", "https://app.example", "https://app.example", "javascript:alert(1)"],
  metricsKey: ["DOORHOOK_METRICS_KEY", "m".repeat(32), "m".repeat(32), "m".repeat(31)],
  requestsPerMinute: ["DOORHOOK_REQUESTS_PER_MINUTE", "60", 60, "0"],
  streamsPerGrant: ["DOORHOOK_STREAMS_PER_GRANT", "5", 5, "0"],
  streams: ["DOORHOOK_STREAMS", "500", 500, "0"],
  tokenRequestsPerMinute: ["DOORHOOK_TOKEN_REQUESTS_PER_MINUTE", "unlimited", "unlimited", "0"],
  accessTokensPerGrant: ["DOORHOOK_ACCESS_TOKENS_PER_GRANT", "5", 5, "unlimited"],
  appearance: ["DOORHOOK_APPEARANCE", '{"name":"North Tower"}', { name: "North Tower" }, "North Tower"],
  texts: ["DOORHOOK_TEXTS", '{"fr":{"deny":"Refuser"}}', { fr: { deny: "Refuser" } }, "Refuser"],
  clientIdMetadata: [
    "DOORHOOK_CLIENT_ID_METADATA",
    '{"allow":["https://*.example.com"]}',
    { allow: ["https://*.example.com"] },
    '{"allow":["http://example.com"]}'
  ],
  resources: [
    "DOORHOOK_RESOURCES",
    '{"https://api.example/doors":{"scopes":["public"]}}',
    { "https://api.example/doors": { scopes: ["public"] } },
    '{"doors":{}}'
  ],
  scopes: ["DOORHOOK_SCOPES", '{"doors:open":"Open"}', { "doors:open": "Open" }, '{"a b":"x"}'],
  refreshRequiresSecret: ["DOORHOOK_REFRESH_REQUIRES_SECRET", "true", true, "maybe"],
  refreshRotation: ["DOORHOOK_REFRESH_ROTATION", "always", "always", "often"],
  unknownScope: ["DOORHOOK_UNKNOWN_SCOPE", "ignore", "ignore", "accept"],
  createdStatus: ["DOORHOOK_CREATED_STATUS", "200", 200, "204"],
  plainJson: ["DOORHOOK_PLAIN_JSON", "on", true, "maybe"],
  topLevelPageInfo: ["DOORHOOK_TOP_LEVEL_PAGE_INFO", "yes", true, "maybe"],
  configAlias: ["DOORHOOK_CONFIG_ALIAS", "1", true, "2"],
  doorReleaseAlias: ["DOORHOOK_DOOR_RELEASE_ALIAS", "y", true, "maybe"]
}

const given = Object.values(settings)
const right = Object.fromEntries(given.map(([variable, text]) => [variable, text]))
const wrong = Object.fromEntries(given.map(([variable, , , text]) => [variable, text]))

const readFrom = (env: Readonly<Record<string, string>>) =>
  fromEnvironment.pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))))

/** Returns the settings that a message names together with their variable, like `retry (DOORHOOK_RETRY)`. */
const namedIn = (message: string) =>
  Object.entries(settings).flatMap(([name, [variable]]) => (message.includes(`${name} (${variable})`) ? [name] : []))

const all = Object.keys(EngineConfig.fields)

/** Query of an authorize request. */
const query = new URLSearchParams({ response_type: "code", client_id: "c1", redirect_uri: "https://client.example/cb" })

/** All settings except `noProxy`, which is not checked if the proxy is invalid. */
const butExceptions = all.filter((name) => name !== "noProxy")
const wrongExceptions = { DOORHOOK_PROXY: "http://proxy.internal:3128", DOORHOOK_NO_PROXY: "a..b" }

describe("the environment", () => {
  live("gives every setting of the engine to applications in Effect", function* () {
    const meant = Object.entries(settings).map(([name, [, , meaning]]) => [name, meaning])
    const read = yield* readFrom(right)
    assert.deepStrictEqual(read, Object.fromEntries(meant))
    assert.sameMembers(Object.keys(read), all)
    assert.deepStrictEqual(yield* readFrom({ DOORHOOK_ALLOW_TARGETS: "" }), {})
    const unlimited = yield* readFrom({ DOORHOOK_REQUESTS_PER_MINUTE: "unlimited", DOORHOOK_SIGNING: "off" })
    assert.deepStrictEqual(yield* readFrom({ DOORHOOK_CLIENT_ID_METADATA: "any" }), { clientIdMetadata: "any" })
    assert.deepStrictEqual(unlimited, { requestsPerMinute: "unlimited", signing: "off" })
  })

  live("reports all problems together, by the names of the variables", function* () {
    const { message } = yield* Effect.flip(readFrom(wrong))
    assert.sameMembers(namedIn(message), butExceptions)
    assert.match((yield* Effect.flip(readFrom(wrongExceptions))).message, /^noProxy \(DOORHOOK_NO_PROXY\): "a\.\.b" is/)
    for (const command of ["serve", "worker", "doctor", "migrate"]) {
      const refused = yield* runHere([command], wrong)
      assert.deepStrictEqual([refused.code, refused.stdout], [3, ""], command)
      assert.match(refused.stderr, /^doorhook: [^\n]*\n$/)
      assert.sameMembers(namedIn(refused.stderr), butExceptions)
      assert.notInclude(refused.stderr, "swordfish")
      for (const said of [
        "createdStatus (DOORHOOK_CREATED_STATUS): must be 200 or 201",
        "requestsPerMinute (DOORHOOK_REQUESTS_PER_MINUTE): must be a whole number of at least 1, or unlimited",
        'appearance (DOORHOOK_APPEARANCE): must be JSON, like {"name":"Doors"}',
        "plainJson (DOORHOOK_PLAIN_JSON): must be true or false"
      ]) {
        assert.include(refused.stderr, said)
      }
    }
    const flagged = yield* runHere(["serve", "--database", "memory", "--ack-timeout", "later"], wrong)
    assert.include(flagged.stderr, "ackTimeout (--ack-timeout):")
    assert.include(flagged.stderr, "lease (DOORHOOK_LEASE):")
    const documents = yield* runHere(["serve"], { DOORHOOK_CLIENT_ID_METADATA: "all" })
    assert.include(documents.stderr, 'must be JSON, like any, or {"allow":["https://*.example.com"]}')
    const look = yield* runHere(["serve"], { DOORHOOK_APPEARANCE: '{"nmae":"x"}' })
    assert.match(look.stderr, /^doorhook: appearance\.nmae \(DOORHOOK_APPEARANCE\): is not known here/)
    const texts = yield* runHere(["serve"], { DOORHOOK_TEXTS: '{"fr":{"dney":"Refuser","deny":1}}' })
    assert.include(texts.stderr, "texts.fr.dney (DOORHOOK_TEXTS): is not known here")
    assert.include(texts.stderr, "texts.fr.deny (DOORHOOK_TEXTS): must be a text")
  })

  live("applies to a service, and exceptions bypass the proxy", function* () {
    const receiver = yield* startReceiver()
    // Nothing listens at the proxy's address, so a request that reaches the receiver has bypassed the proxy.
    const { url } = yield* serveHere(["--database", "memory", "--directory", directory], {
      DOORHOOK_ALLOW_TARGETS: "127.0.0.0/8",
      DOORHOOK_PROXY: `http://127.0.0.1:${yield* freePort}`,
      DOORHOOK_NO_PROXY: "127.0.0.0/8",
      DOORHOOK_CREATED_STATUS: "200",
      DOORHOOK_CONFIG_ALIAS: "true",
      DOORHOOK_APPEARANCE: '{"name":"North Tower"}'
    })
    const { access_token: token } = yield* Effect.promise(() => tokensOf(url))
    const created = yield* Effect.promise(() =>
      callApi(url, token, "POST", "/v4/buildings/1/integrations", integrationDocument(receiver.url))
    )
    assert.strictEqual(created.status, 200)
    assert.include(yield* Effect.promise(() => created.text()), '"config":')
    const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } }
    yield* Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/events", event))
    yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
    const page = yield* Effect.promise(async () => (await fetch(`${url}/oauth/authorize?${query.toString()}`)).text())
    assert.include(page, "North Tower")
  })
})

/** A port without a listener. */
const freePort = Effect.promise(async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  const address = Schema.decodeUnknownSync(Schema.Struct({ port: Schema.Int }))(server.address())
  await new Promise((resolve) => server.close(resolve))
  return address.port
})
