/**
 * Tests the Next.js example without Next.js, which takes a minute to install and build. `packaging/Examples.ts` tests
 * the other examples with the packed archives.
 */
import { afterEach, assert, describe, it, vi } from "@effect/vitest"

const moduleOf = async (file: string): Promise<unknown> =>
  import(new URL(`../../../../docs/examples/next/${file}`, import.meta.url).href)

/** Calls an export of a module as Next.js does. */
const call = async (module: unknown, name: string, ...args: ReadonlyArray<unknown>): Promise<unknown> => {
  const exported: unknown = Reflect.get(Object(module), name)
  return typeof exported === "function" ? Reflect.apply(exported, undefined, args) : undefined
}

const statusOf = async (answer: Promise<unknown>): Promise<unknown> => Reflect.get(Object(await answer), "status")

describe("the example on Next.js", () => {
  afterEach(() => void vi.unstubAllEnvs())

  it("serves doorhook from its route handlers", async () => {
    vi.stubEnv("DATABASE", "memory")
    vi.stubEnv("NEXT_RUNTIME", "nodejs")
    await call(await moduleOf("instrumentation.ts"), "register")
    assert.isDefined(globalThis.doorhook)
    const routes = await moduleOf("app/[...path]/route.ts")
    const context = { params: Promise.resolve({ path: ["v4", "buildings"] }) }
    const answer = (method: string, path = "/v4/buildings") =>
      statusOf(call(routes, method, new Request(`http://localhost:3000${path}`, { method }), context))
    assert.strictEqual(await answer("GET"), 401)
    // By default, Next.js answers OPTIONS itself. Here doorhook must answer, because browsers send preflight requests
    // from the origins in `browserOrigins`.
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      assert.strictEqual(await answer(method), 405, method)
    }
    assert.strictEqual(await answer("GET", "/nowhere"), 404)
    assert.strictEqual(await statusOf(call(await moduleOf("app/rings/route.ts"), "POST")), 201)
    const doorhook = await globalThis.doorhook
    await doorhook?.close()
    globalThis.doorhook = undefined
  })
})
