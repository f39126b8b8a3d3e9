/**
 * The suite on senders. doorhook passes, started by its command. A sender that takes every shortcut fails.
 */
import { operatorKey, startService } from "@doorhook/testkit/Doorhook"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { configured } from "../../../packages/doorhook/test/harness/Delivering.ts"
import {
  callApi,
  discover,
  integrationDocument,
  takeTokens
} from "../../../packages/doorhook/test/harness/ThirdParty.ts"
import { eventsNeeded, render, runSender } from "../../src/sender/SenderCommand.ts"
import type { SenderReport } from "../../src/sender/SenderCommand.ts"
import { conformance } from "../support/command.ts"
import { deadPort } from "../support/receiver.ts"

const secret = "whsec_c2VjcmV0LW9mLWEtc2VuZGVyLWluLWEtdGVzdA=="

const idsWith = ({ requirements }: SenderReport, verdict: string): ReadonlyArray<string> =>
  requirements.filter((requirement) => requirement.verdict === verdict).map(({ id }) => id)

/** Sends each event twice at most, unsigned, with a new id each time, and follows redirects. */
const sendCarelessly = async (url: string): Promise<void> => {
  for (let event = 0; event < eventsNeeded; event++) {
    for (const attempt of [1, 2]) {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", "webhook-id": `evt_${event}_${attempt}` },
        body: `{"event":{"resource_type":"call","action":"create","data":{"id":${event}}}}`
      }).catch(() => null)
      if (answer?.ok === true) break
    }
  }
}

/** Sends each event correctly, but stops after two attempts: the next retry is due much later. */
const sendPatiently = async (url: string): Promise<void> => {
  for (let event = 0; event < eventsNeeded; event++) {
    for (const attempt of [1, 2]) {
      const answer = await fetch(url, {
        method: "POST",
        redirect: "manual",
        signal: AbortSignal.timeout(1_000),
        headers: {
          "content-type": "application/json",
          "webhook-id": `evt_${event}`,
          "doorhook-attempt": String(attempt)
        },
        body: `{"event":{"resource_type":"call","action":"create","data":{"id":${event}}}}`
      }).catch(() => null)
      if (answer?.status === 200) break
    }
  }
}

const Created = Schema.Struct({ meta: Schema.Struct({ signing_secret: Schema.String }) })

describe("a sender", () => {
  it.live("that takes every shortcut fails for each of them", () =>
    Effect.gen(function* () {
      const report = yield* runSender({
        host: "127.0.0.1",
        port: 0,
        secret: Redacted.make(secret),
        deadline: 400,
        quiet: 200,
        maxTime: 2_000,
        // Waits for the last answer, so that every attempt is seen.
        listening: (url) => Effect.promise(() => sendCarelessly(url))
      }).pipe(Effect.timeout("30 seconds"))
      assert.strictEqual(report.verdict, "fail")
      for (const id of ["S-ID-01", "S-RETRY-02", "S-REDIR-01", "S-LATE-01", "S-SIG-01"]) {
        assert.include(idsWith(report, "FAIL"), id, render(report))
      }
      assert.include(idsWith(report, "PASS"), "S-BODY-01")
    })
  )

  it.live("whose last retry is not due yet is undecided when the time is up", () =>
    Effect.gen(function* () {
      const report = yield* runSender({
        host: "127.0.0.1",
        port: 0,
        secret: null,
        deadline: 1_000,
        quiet: 200,
        maxTime: 1_000,
        listening: (url) => Effect.promise(() => sendPatiently(url))
      })
      const { history, observed, verdict } =
        report.requirements.find(({ id }) => id === "S-RETRY-01") ?? assert.fail(render(report))
      assert.strictEqual(verdict, "INCONCLUSIVE", render(report))
      assert.include(observed, "--max-time")
      assert.strictEqual(history.length, 2)
    })
  )

  it.live("passes if it is doorhook, started as a process", () =>
    Effect.gen(function* () {
      const retry = { access_log: ["200ms", "300ms", "500ms", "1s"] }
      const { url } = yield* startService(yield* configured("memory", { ackTimeout: "3s", lease: "9s", retry }))
      const port = yield* deadPort
      // The secret is known only once the integration exists, and creating the integration takes the receiver's URL.
      const created = yield* Effect.promise(async () => {
        const client = await discover(url, "c1", "s1")
        const tokens = await takeTokens(client, "https://client.example/cb", "admin@example.com", "correct horse")
        const document = integrationDocument(`http://127.0.0.1:${port}/hook`)
        const answer = await callApi(url, tokens.access_token, "POST", "/v4/buildings/1/integrations", document)
        return answer.json()
      })
      const { meta } = yield* Schema.decodeUnknownEffect(Created)(created)
      const events = Array.from({ length: eventsNeeded }, (_, id) => ({
        resource_type: "access_log",
        action: "create",
        building_id: 1,
        data: { id }
      }))
      const report = yield* runSender({
        host: "127.0.0.1",
        port,
        secret: Redacted.make(meta.signing_secret),
        // The plan's slow answer is sent at 80 % of the deadline, and must be in time even on a busy machine.
        deadline: 3_000,
        quiet: 2_000,
        maxTime: 240_000,
        listening: () => Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/events", events))
      })
      assert.strictEqual(report.verdict, "pass", render(report))
      assert.include(idsWith(report, "PASS"), "S-SIG-01")
    })
  )
})

describe("conformance sender", () => {
  it.live("says on one line what is wrong with its flags", () =>
    Effect.gen(function* () {
      const port = yield* conformance("sender", "--port", "70000")
      assert.strictEqual(port.exitCode, 3)
      assert.include(port.message, "--port must be from 0 to 65535")
      const report = yield* conformance("sender", "--report", "html=x")
      assert.strictEqual(report.exitCode, 3)
      assert.include(report.message, "json=FILE")
      const nowhere = yield* conformance("sender", "--report", "json=/no/such/sender.json")
      assert.match(nowhere.message, /^--report json=\S+: expected a file that can be written; /)
      const key = yield* conformance("sender", "--secret", "whsec_hush!")
      assert.strictEqual(key.exitCode, 3)
      assert.notInclude(key.message, "hush")
    })
  )

  it.live("exits with 2 if no event arrives", () =>
    Effect.gen(function* () {
      const { exitCode, message, output } = yield* conformance("sender", "--max-time", "300ms")
      assert.strictEqual(exitCode, 2)
      assert.match(output, /Listening on http:\/\/127\.0\.0\.1:\d+\/hook/)
      assert.include(message, "0 events arrived")
    })
  )
})
