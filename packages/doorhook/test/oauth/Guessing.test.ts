/**
 * Floods of requests that guess passwords and secrets at an embedding host.
 */
import { assert } from "@effect/vitest"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import { authorizeUrl } from "../harness/CodeGrant.ts"
import { client, directory, live, start } from "../harness/Embedded.ts"
import { formOf } from "../harness/LoginForm.ts"

const url = "http://localhost"

/** Returns the login form, which can be sent repeatedly. */
const openForm = (doorhook: Doorhook) =>
  Effect.promise(async () => formOf(await doorhook.fetch(new Request(authorizeUrl(url, client))), url))

live(
  "of two thousand guesses at one login from unknown addresses, five run concurrently and twenty wait",
  function* () {
    let [asked, asking, most] = [0, 0, 0]
    let isHeld = false
    const gate = Promise.withResolvers<void>()
    const doorhook = yield* start({
      directory: {
        ...directory,
        authenticate: async (login, password) => {
          asked++
          most = Math.max(most, ++asking)
          if (isHeld) await gate.promise
          asking--
          return password === "right" ? { id: login } : null
        }
      }
    })
    const form = yield* openForm(doorhook)
    const guess = (password: string) => doorhook.fetch(form({ login: "admin", password }))
    yield* Effect.promise(async () => {
      for (let n = 0; n < 9; n++) assert.strictEqual((await guess("wrong")).status, 403)
      assert.strictEqual(asked, 9)
      isHeld = true
      const refused = Promise.withResolvers<void>()
      let refusals = 0
      const guesses = Array.from({ length: 2_000 }, async () => {
        // These logins use the right password, so none is slowed down by earlier failures.
        const { headers, status } = await guess("right")
        if (status === 429 && ++refusals === 1_975) refused.resolve()
        return [status, headers.get("retry-after")].join(" ")
      })
      await refused.promise
      assert.deepStrictEqual([asked, most], [9 + 5, 5])
      gate.resolve()
      const answers = await Promise.all(guesses)
      assert.lengthOf(
        answers.filter((answer) => answer === "303 "),
        25
      )
      assert.lengthOf(
        answers.filter((answer) => answer === "429 8"),
        1_975
      )
      assert.deepStrictEqual([asked, most], [9 + 25, 5])
    })
  }
)

live(
  "wrong operator keys from unknown addresses neither delay the host's own calls nor block the right key",
  function* () {
    const doorhook = yield* start()
    const ask = (key: string) =>
      doorhook.fetch(new Request(`${url}/operator/summary`, { headers: { authorization: `Bearer ${key}` } }))
    yield* Effect.promise(async () => {
      for (let n = 0; n < 10; n++) assert.strictEqual((await ask(`guess-${n}`)).status, 401)
      const order: Array<string> = []
      const guess = ask("guess").then(({ status }) => order.push(`guess ${status}`))
      const right = ask(doorhook.operatorKey).then(({ status }) => order.push(`right ${status}`))
      await doorhook.integrations.list().then(() => order.push("own call"))
      await Promise.all([guess, right])
      assert.deepStrictEqual([order[0], order.toSorted()], ["own call", ["guess 401", "own call", "right 200"]])
    })
  }
)
