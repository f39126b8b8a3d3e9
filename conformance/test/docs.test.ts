/**
 * The code in the guides passes the suite without a WARN, and examples call it correctly.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { conformance } from "./support/command.ts"
import { answer, receiver } from "./support/receiver.ts"
import { run } from "./support/run.ts"
import { secret } from "./support/setting.ts"

const page = readFileSync(new URL("../../docs/receiving.md", import.meta.url), "utf8")
const [, code = ""] = /^```js\n([^]*?)^```$/m.exec(page) ?? []
const Shown = Schema.Struct({
  isGenuine: Schema.declare(
    (value): value is (...args: ReadonlyArray<unknown>) => unknown => typeof value === "function"
  )
})

describe("the verification by hand in the guide", () => {
  it.live("refuses every forged request and accepts every genuine one", () =>
    Effect.gen(function* () {
      const loaded: unknown = yield* Effect.promise(
        () => import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(code)}`)
      )
      const { isGenuine } = yield* Schema.decodeUnknownEffect(Shown)({ ...Object(loaded) })
      const { url } = yield* receiver(({ body, headers, method }, response) => {
        if (method !== "POST") return answer(response, 405)
        answer(response, isGenuine(Redacted.value(secret), headers, body) === true ? 200 : 401)
      })
      const { requirements } = yield* run({
        url: new URL(url),
        secret,
        profile: ["signed"],
        only: ["R-SIG-*"],
        maxTime: 60_000,
        pace: 0.1,
        seed: 1
      })
      for (const { id, observed, verdict } of requirements) assert.strictEqual(verdict, "PASS", `${id}: ${observed}`)
    })
  )
})

describe("the examples for CI", () => {
  it.live.each(["github", "gitlab"])("call the suite with flags that it accepts: %s", (name) =>
    Effect.gen(function* () {
      const text = readFileSync(new URL(`../../docs/examples/ci/${name}.yml`, import.meta.url), "utf8")
      const commands = Array.from(text.matchAll(/node tools\/doorhook-conformance\.cjs (.*)$/gm), ([, args = ""]) =>
        Array.from(args.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain = ""]) =>
          (quoted ?? plain).replaceAll("=conformance.", `=${tmpdir()}/doorhook-conformance.`)
        )
      )
      assert.strictEqual(commands.length, 3)
      for (const args of commands) {
        const { exitCode, message } = yield* conformance(...args, "--dry-run")
        assert.strictEqual(exitCode, 0, message)
      }
    })
  )
})
