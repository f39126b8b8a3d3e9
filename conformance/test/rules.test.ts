/**
 * Requirements of users: the example of the guide, and modules that are wrong.
 */
import { listen } from "@doorhook/testkit/ListeningServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import { conformance } from "./support/command.ts"

const folder = mkdtempSync(join(tmpdir(), "doorhook-rules-"))
afterAll(() => rmSync(folder, { recursive: true }))

const module = (name: string, code: string): string => {
  const file = join(folder, name)
  writeFileSync(file, code)
  return file
}

const example = readFileSync(new URL("../../docs/examples/rules.mjs", import.meta.url), "utf8")

/** Starts a receiver with a probe that rings at the unit that `ring` returns. */
const ringing = (ring: (unit: number) => number) =>
  Effect.acquireRelease(
    Effect.promise(() => {
      const stored = new Map<string, unknown>()
      const server = createServer((request, response) => {
        const id = new URL(request.url ?? "/", "http://receiver").searchParams.get("id")
        if (id !== null) {
          const data = stored.get(id)
          return void response.end(JSON.stringify({ effects: data === undefined ? 0 : 1, data }))
        }
        void text(request).then((body) => {
          const { event } = Object(JSON.parse(body))
          const { data, resource_type } = Object(event)
          const unit = resource_type === "call" ? { ...data.unit, id: ring(Number(data.unit.id)) } : null
          stored.set(String(request.headers["webhook-id"]), { ...data, unit })
          response.end("ok")
        })
      })
      return listen(server)
    }),
    ({ close }) => Effect.promise(close)
  )

const tested = (origin: string, file: string) => {
  const target = ["--url", `${origin}/hook`, "--probe", `${origin}/probe`, "--level", "2", "--settle", "1s"]
  return conformance("run", ...target, "--rules", file, "--only", "R-OWN-*")
}

describe("own rules", () => {
  it.live("pass a receiver that keeps them, and fail one that does not", () =>
    Effect.gen(function* () {
      const file = module("rules.mjs", example)
      const right = yield* ringing((unit) => unit)
      const passed = yield* tested(right.url, file)
      assert.strictEqual(passed.exitCode, 0, passed.output)
      assert.deepStrictEqual(
        passed.report?.requirements.map(({ id, verdict }) => [id, verdict]),
        [["R-OWN-01", "PASS"]]
      )
      const wrong = yield* ringing((unit) => (unit === 2 ? 3 : unit))
      const failed = yield* tested(wrong.url, file)
      assert.strictEqual(failed.exitCode, 1, failed.output)
      assert.include(failed.report?.requirements[0]?.observed ?? "", "it rings at unit 3")
      assert.strictEqual(failed.report?.requirements[0]?.case?.title, "a call for unit 2")
    })
  )

  it.live.each([
    ["missing.mjs", null, /--rules .*missing\.mjs: .*(?:Cannot find|find module)/],
    ["broken.mjs", "export default (", /--rules .*broken\.mjs: /],
    [
      "nothing.mjs",
      "export const rules = []",
      /the default export must be a function that returns a list of requirements/
    ],
    ["throws.mjs", "export default () => { throw new Error('no bell') }", /--rules .*throws\.mjs: no bell/],
    [
      "named.mjs",
      'export default ({ requirement }) => [requirement("R-ACK-01", 1, {})]',
      /R-ACK-01: ids of your own requirements begin with R-OWN-/
    ]
  ] as const)("that are wrong are refused: %s", ([name, code, message]) =>
    Effect.gen(function* () {
      const file = code === null ? join(folder, name) : module(name, code)
      const result = yield* tested("http://127.0.0.1:9", file)
      assert.strictEqual(result.exitCode, 3, result.message)
      assert.match(result.message, message)
    })
  )
})
