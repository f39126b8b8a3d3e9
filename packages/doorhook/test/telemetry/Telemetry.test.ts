/**
 * Telemetry of a complete flow: traces, metrics and logs over OTLP, and Prometheus. Every secret and every person's
 * name in the flow contains a marker, which must not appear in telemetry.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parse } from "yaml"
import { live } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startDoorhook, startService } from "@doorhook/testkit/Doorhook"
import { serveHere } from "../harness/InProcess.ts"
import { callApi, createIntegration } from "../harness/ThirdParty.ts"
import { letIn } from "../embedding/Visitor.ts"
import { objectsWith, signalOf, startCollector } from "./Collector.ts"

const mark = "MARKED"
const key = `key-${mark}-operator-0123456789abcdef`

const directory = {
  users: [{ login: `ada-${mark}@example.com`, password: `password-${mark}`, buildings: [1] }],
  buildings: [{ id: 1, name: `Tower ${mark}`, time_zone: "Europe/Berlin", access_points: [] }],
  clients: [],
  tenants: []
}

const dashboard: unknown = JSON.parse(
  readFileSync(new URL("../../../../docs/grafana-dashboard.json", import.meta.url), "utf8")
)

const rules: unknown = parse(readFileSync(new URL("../../../../docs/prometheus-rules.yaml", import.meta.url), "utf8"))

/** Names of the metrics used in the dashboard and the alerting rules. */
const namedMetrics = new Set(
  objectsWith("expr", [dashboard, rules]).flatMap(({ expr }) => String(expr).match(/doorhook_[a-z0-9_]+/g) ?? [])
)

/** Returns a gauge's data point with this value. */
const pointIn = (metric: unknown, value: number): unknown =>
  objectsWith("asDouble", metric).find(({ asDouble }) => asDouble === value)

const attributesOf = (span: unknown): Record<string, string> =>
  Object.fromEntries(
    objectsWith("key", Object(span)["attributes"]).map(({ key: name, value }) => [
      String(name),
      String(Object.values(Object(value))[0])
    ])
  )

describe("telemetry", () => {
  live("records publications and attempts, links them, and contains no secret and no person", function* () {
    const folder = yield* temporaryFolder
    writeFileSync(join(folder, "directory.json"), JSON.stringify(directory))
    const collector = yield* startCollector
    const args = ["--database", join(folder, "doorhook.db"), "--directory", join(folder, "directory.json")]
    const flags = [...args, "--allow-target", "127.0.0.0/8", "--retry", "access_log=", "--disable-after", "1s"]
    const { child, finished, stderr, url } = yield* startService(flags, {
      DOORHOOK_OPERATOR_KEY: key,
      DOORHOOK_ENCRYPTION_KEY: `sealing-${mark}-0123456789-0123456789`,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${mark}`,
      OTEL_METRIC_EXPORT_INTERVAL: "200",
      OTEL_SERVICE_NAME: "doors",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test"
    })
    const receiver = yield* startReceiver((_, nth) => (nth === 1 ? 200 : 500))
    const wrong = { login: `ada-${mark}@example.com`, password: `wrong-${mark}` }
    assert.strictEqual((yield* letIn(url, wrong, "", key)).token, "")
    const { token } = yield* letIn(url, { login: wrong.login, password: `password-${mark}` }, "", key)
    const call = (method: string, path: string, body?: unknown) =>
      Effect.promise(() => callApi(url, key, method, path, body))
    yield* Effect.promise(() => createIntegration(url, token, `${receiver.url}?token=${mark}`))
    const event = {
      resource_type: "access_log",
      action: "create",
      building_id: 1,
      data: { id: 1, person: `Ada ${mark}`, code: mark }
    }
    const publish = Effect.flatMap(call("POST", "/operator/events", event), (answer) =>
      Effect.promise((): Promise<unknown> => answer.json())
    )
    const id = String(objectsWith("id", yield* publish)[0]?.["id"])
    yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
    yield* publish
    yield* Effect.promise(() => receiver.until(({ length }) => length === 2))
    const metrics = yield* eventually(
      "a notification is counted",
      Effect.promise(async () => (await fetch(`${url}/metrics`)).text()),
      (text) => /^doorhook_notifications_total\{[^}]*kind="exhausted"[^}]*\} [1-9]/m.test(text)
    )
    const exportsGauges = (body: string): boolean =>
      objectsWith("gauge", JSON.parse(body)).some(
        (metric) =>
          metric["name"] === "doorhook_deliveries" && attributesOf(pointIn(metric, 1))["state"] === "delivered"
      )
    yield* Effect.promise(() =>
      collector.until((all) => all.some((one) => signalOf(one) === "metrics" && exportsGauges(one.body)))
    )
    child.kill("SIGTERM")
    assert.strictEqual((yield* Effect.promise(() => finished)).code, 0)

    const everything = collector.received.map(({ body }) => body).join("\n")
    for (const secret of [mark, token]) {
      assert.notInclude(everything, secret)
      assert.notInclude(metrics, secret)
      assert.notInclude(stderr(), secret)
    }

    const of = (signal: string): ReadonlyArray<unknown> =>
      collector.received.flatMap((one) => (signalOf(one) === signal ? [JSON.parse(one.body)] : []))
    const spans = objectsWith("spanId", of("traces")).filter(({ name }) => name !== undefined)
    const named = (name: string) =>
      spans.filter((span) => span["name"] === name && attributesOf(span)["messaging.message.id"] === id)
    const [publication] = named("doorhook.publish")
    const [attempt] = named("doorhook.attempt")
    assert.deepInclude(attributesOf(publication), { "doorhook.deliveries": "1" })
    assert.deepInclude(attributesOf(attempt), { "doorhook.attempt": "1", "http.response.status_code": "200" })
    const [link] = objectsWith("traceId", attempt?.["links"])
    assert.deepStrictEqual([link?.["traceId"], link?.["spanId"]], [publication?.["traceId"], publication?.["spanId"]])
    const names = new Set(objectsWith("name", of("metrics")).map(({ name }) => name))
    for (const name of [
      "doorhook_events_accepted_total",
      "doorhook_attempts_total",
      "doorhook_acknowledgement_latency_seconds"
    ]) {
      assert.isTrue(names.has(name), name)
    }
    assert.match(JSON.stringify(of("logs")), /given up/)
    assert.include(everything, '"doors"')
    assert.include(everything, "deployment.environment")
    // Receivers must not get any telemetry headers.
    assert.isUndefined(receiver.received[0]?.headers["traceparent"])

    assert.isAtLeast(namedMetrics.size, 15)
    for (const name of namedMetrics) {
      const isThere = new RegExp(`^${name}(\\{| )`, "m").test(metrics)
      assert.isTrue(isThere, `the dashboard or the rules name ${name}, which is not at /metrics`)
      // Prometheus has three metrics for each histogram, and OTLP has one.
      assert.isTrue(names.has(name.replace(/_bucket$/, "")), `they name ${name}, which is not sent`)
    }
  })

  live("is sent, and stopping is not a failure, with any flags before the command's name", function* () {
    const collector = yield* startCollector
    const args = ["--log-level", "info", "serve", "--port", "0", "--database", "memory"]
    const { child, finished, printed } = yield* startDoorhook(args, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
      OTEL_METRIC_EXPORT_INTERVAL: "200"
    })
    yield* Effect.promise(() => printed(/doorhook listening/))
    yield* Effect.promise(() => collector.until((all) => all.some((one) => signalOf(one) === "metrics")))
    child.kill("SIGTERM")
    const { code, stdout } = yield* Effect.promise(() => finished)
    assert.strictEqual(code, 0)
    assert.match(stdout, /\ndoorhook stopped\n$/)
  })

  live("is not sent unless the environment names a collector", function* () {
    const { origin, received } = yield* startCollector
    const served = serveHere(["--database", "memory"], {
      OTEL_EXPORTER_OTLP_ENDPOINT: origin,
      OTEL_SDK_DISABLED: "true"
    })
    const answer = yield* Effect.scoped(
      Effect.flatMap(served, ({ url }) => Effect.promise(() => fetch(`${url}/health/live`)))
    )
    assert.strictEqual(answer.status, 200)
    assert.lengthOf(received, 0)
  })
})
