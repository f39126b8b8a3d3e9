import { AddressPolicy } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Logger, Option } from "effect"
import type { OAuthServerOptions } from "./OAuthServer.ts"
import { admin, authorizeC1, Browser, formOf, startServer } from "./OAuthServer.ts"

const loopback = Option.toArray(AddressPolicy.parseNetwork("127.0.0.0/8"))

/** Runs a test against its own server. `logIn` returns the status of a login attempt with given forwarding headers. */
const withServer = async (
  http: NonNullable<OAuthServerOptions["http"]>,
  test: (logIn: (forwardedFor: string | null, password?: string) => Promise<number>) => Promise<void>
) => {
  const server = await startServer({ http })
  const visitor = new Browser(server.url)
  const { action, fields } = formOf((await visitor.authorize(authorizeC1)).text)
  await test(async (forwardedFor, password = "wrong") => {
    const body = new URLSearchParams({ ...fields, ...admin, password })
    const headers = forwardedFor === null ? {} : { "x-forwarded-for": forwardedFor }
    return (await visitor.request(action, { method: "POST", body, headers })).status
  })
}

const repeat = async (times: number, run: (n: number) => Promise<number>, expected: number) => {
  for (let n = 1; n <= times; n++) assert.strictEqual(await run(n), expected, `time ${n}`)
}

describe("the address of a client", () => {
  it("is not what an untrusted proxy reports", async () => {
    await withServer({ trustedProxies: Option.toArray(AddressPolicy.parseNetwork("10.0.0.0/8")) }, async (logIn) => {
      await repeat(10, (n) => logIn(`203.0.113.${n}`), 403)
      assert.strictEqual(await logIn("203.0.113.99", admin.password), 429)
    })
  })

  it("is the rightmost untrusted address, because the client can forge everything left of it", async () => {
    await withServer({ trustedProxies: loopback }, async (logIn) => {
      await repeat(10, (n) => logIn(`198.51.100.${n}, 203.0.113.1, 127.0.0.${n}`), 403)
      assert.strictEqual(await logIn("198.51.100.99, 203.0.113.1", admin.password), 429)
      assert.strictEqual(await logIn("203.0.113.1, 198.51.100.99", admin.password), 303)
    })
  })

  it("is that of the proxy if the proxy reports no valid address", async () => {
    await withServer({ trustedProxies: loopback }, async (logIn) => {
      await repeat(5, () => logIn(null), 403)
      await repeat(5, (n) => logIn(`unknown-${n}`), 403)
      assert.strictEqual(await logIn(null, admin.password), 429)
    })
  })

  it("counts as the subscriber's whole network for IPv6", async () => {
    await withServer({ trustedProxies: loopback }, async (logIn) => {
      await repeat(10, (n) => logIn(`2001:db8:1:2::${n}`), 403)
      assert.strictEqual(await logIn("2001:db8:1:2:ffff::1", admin.password), 429)
      assert.strictEqual(await logIn("2001:db8:1:3::1", admin.password), 303)
    })
  })

  it("is logged once if an unknown proxy reports it", async () => {
    for (const { trustedProxies, told } of [
      { trustedProxies: [], told: 1 },
      { trustedProxies: loopback, told: 0 }
    ]) {
      const lines: Array<string> = []
      const around = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const server = await startServer({ around, http: { trustedProxies } })
      await fetch(`${server.url}/health/live`)
      for (let time = 1; time <= 3; time++) {
        await fetch(`${server.url}/health/live`, { headers: { "x-forwarded-for": "203.0.113.1" } })
      }
      const warnings = lines.filter((line) => line.includes("--trusted-proxy"))
      assert.strictEqual(warnings.length, told)
      for (const warning of warnings) assert.include(warning, "127.0.0.1")
    }
  })
})
