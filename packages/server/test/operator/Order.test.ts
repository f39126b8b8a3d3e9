import { assert, describe } from "@effect/vitest"
import { call, operatorKey, onServer } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"
import { attempt, published } from "./Attempts.ts"

const as = operatorKey

const idsOf = (reply: Reply, list: string): ReadonlyArray<string> =>
  Object.keys(reply.at(`/${list}`) ?? {}).map((index) => reply.textAt(`/${list}/${index}/id`))

describe("lists of the operator", () => {
  for (const list of ["deliveries", "notifications"]) {
    onServer(`return ${list} from newest to oldest, in pages`, function* () {
      for (let n = 0; n < 5; n++) {
        yield* published(1)
        yield* attempt("timeout", "exhausted")
      }
      const oldest = idsOf(yield* call("GET", `/operator/${list}`, { as }), list)
      assert.isAtLeast(oldest.length, 5)
      const newest: Array<string> = []
      let after: string | null = ""
      while (after !== null) {
        const page: Reply = yield* call("GET", `/operator/${list}?order=newest&limit=2&after=${after}`, { as })
        newest.push(...idsOf(page, list))
        after = page.at("/next") === null ? null : page.textAt("/next")
      }
      assert.deepStrictEqual(newest, oldest.toReversed())
      const refused = yield* call("GET", `/operator/${list}?order=best`, { as })
      assert.strictEqual(refused.status, 400)
      assert.strictEqual(refused.textAt("/errors/0/detail"), "`order` must be oldest or newest.")
    })
  }
})
