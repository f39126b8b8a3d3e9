/**
 * The login page over https behind a TLS proxy, as in most deployments. The certificate is self-signed.
 */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "node:http"
import { createServer } from "node:https"
import { makeSelfSigned } from "@doorhook/testkit/hostile/Certificates"
import { listening } from "@doorhook/testkit/ListeningServer"
import { serveHere } from "../harness/InProcess.ts"
import { admin, directory } from "../harness/KnownDirectory.ts"
import { shared } from "../harness/Shared.ts"
import { allow, fill } from "./LoginStage.ts"
import { hasBrowser, openVisitors } from "./Visitors.ts"

/** Starts a proxy that forwards all requests to a local port and adds the usual headers. */
const openProxy = (portBehind: () => number) =>
  listening(
    createServer({ ...makeSelfSigned("127.0.0.1") }, (incoming, outgoing) => {
      const { headers, method, socket, url } = incoming
      const behind = request({
        host: "127.0.0.1",
        port: portBehind(),
        headers: { ...headers, "x-forwarded-for": socket.remoteAddress, "x-forwarded-proto": "https" },
        ...(method !== undefined && { method }),
        ...(url !== undefined && { path: url })
      })
      behind.on("response", (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      incoming.pipe(behind)
    })
  )

const openStage = Effect.gen(function* () {
  let behind = 0
  const { port } = yield* openProxy(() => behind)
  const url = `https://127.0.0.1:${port}`
  const args = ["--database", "memory", "--directory", directory, "--public-url", url]
  const service = yield* serveHere([...args, "--trusted-proxy", "127.0.0.0/8"])
  behind = Number(new URL(service.url).port)
  return { ...(yield* openVisitors), url }
})

describe.skipIf(!hasBrowser)("logging in with a browser over https", () => {
  const stage = shared(openStage, hasBrowser)
  afterEach(() => stage().closePages())

  it("binds the form to a cookie that no other host can set, and ends with a code", async () => {
    const { url } = stage()
    const { complaints, context, page } = await stage().page({ ignoreHTTPSErrors: true })
    await page.goto(`${url}/oauth/authorize?client_id=c1&response_type=code&client_secret=s1`)
    assert.strictEqual(page.url(), `${url}/oauth/authorize?client_id=c1&response_type=code`)
    const cookies = await context.cookies()
    assert.deepStrictEqual(
      cookies.map(({ domain, httpOnly, name, path, sameSite, secure }) => [
        name,
        domain,
        path,
        secure,
        httpOnly,
        sameSite
      ]),
      [["__Host-doorhook_login", "127.0.0.1", "/", true, true, "Lax"]]
    )

    // Over https, doorhook refuses a cookie with the name that it uses over http.
    await context.clearCookies()
    await context.addCookies(cookies.map(({ value }) => ({ name: "doorhook_login", value, url })))
    await fill(page, admin)
    await allow(page).click()
    assert.match(await page.getByRole("alert").innerText(), /refuses cookies/)

    await fill(page, admin)
    await allow(page).click()
    assert.match(await page.locator("#authorization_code").innerText(), /^dh_ac_[A-Za-z0-9_-]{43}$/)
    assert.strictEqual(page.url(), `${url}/oauth/authorize`)
    assert.deepStrictEqual(
      complaints.filter((text) => !text.includes("403")),
      []
    )
  })
})
