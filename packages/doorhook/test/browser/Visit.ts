/**
 * A real browser on a visit, and what it saw: every request, every complaint of its console, every breach of a policy.
 */
import { assert } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { RequestListener } from "node:http"
import { chromium } from "playwright-core"
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core"
import { directory } from "../harness/Delivering.ts"
import { startService } from "@doorhook/testkit/Doorhook"
import { executable } from "./Executable.ts"

const path = executable()

if (path === null) {
  process.stderr.write(
    "\n!!! NO BROWSER: the tests of the login page in Chromium are SKIPPED. `npm run setup:browser` fetches one.\n\n"
  )
}

/** Whether there is a browser; tests that need one are skipped where there is none. */
export const hasBrowser = path !== null

/** An HTTP server, its address, and how it is closed. */
const serve = async (handle: RequestListener) => {
  const server = createServer(handle).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    url: `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}

/** RFC 7636 appendix B. */
export const pkce = {
  verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
  challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
} as const

export const admin = { login: "admin@example.com", password: "correct horse" } as const

const query = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString()

/** What a browser saw on its visit. */
interface Seen {
  /** Every address that was asked for, in order. */
  readonly addresses: ReadonlyArray<string>
  /** What the console complained about, and what a content security policy stopped. */
  readonly complaints: ReadonlyArray<string>
}

const welcome = '<!doctype html><html lang="en"><title>Pocket app</title><link rel="icon" href="data:,"><h1>Welcome'

export const launch = () =>
  chromium.launch({
    headless: true,
    ...(path !== null && { executablePath: path }),
    // Root may not use the sandbox.
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : []
  })

/** The service as a process, a browser, an app that waits at its redirect URI, and what leads from one to the other. */
export const openStage = async () => {
  const scope = Scope.makeUnsafe()
  const { url } = await Effect.runPromise(
    startService(["--database", "memory", "--directory", directory]).pipe(Scope.provide(scope))
  )
  const page = (html: string) => serve((_, response) => response.setHeader("content-type", "text/html").end(html))
  const app = await page(welcome)
  const browser = path === null ? null : await launch()
  const contexts: Array<BrowserContext> = []
  const servers = [app]

  /** A page to visit addresses with, in a browser that has been nowhere. */
  const openPage = async (options: BrowserContextOptions = {}) => {
    if (browser === null) throw new Error("there is no browser")
    const context = await browser.newContext(options)
    contexts.push(context)
    const tab = await context.newPage()
    tab.setDefaultTimeout(15_000)
    const addresses: Array<string> = []
    const complaints: Array<string> = []
    context.on("request", (request) => addresses.push(request.url()))
    tab.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
    })
    tab.on("pageerror", (error) => complaints.push(String(error)))
    const seen: Seen = { addresses, complaints }
    return { page: tab, seen, context }
  }

  const callback = `${app.url}/cb`
  return {
    url,
    app: app.url,
    callback,
    /** Ends at the app. */
    toApp: `${url}/oauth/authorize?${query({
      client_id: "p1",
      response_type: "code",
      redirect_uri: callback,
      state: "s t/á",
      code_challenge: pkce.challenge,
      code_challenge_method: "S256"
    })}`,
    /** Ends on the page with the code. */
    outOfBand: `${url}/oauth/authorize?${query({ client_id: "c1", response_type: "code", client_secret: "s1" })}`,
    openPage,
    /** Another site, with one page. */
    listen: async (html: string) => {
      const site = await page(html)
      servers.push(site)
      return site.url
    },
    closePages: async () => {
      for (const context of contexts.splice(0)) await context.close()
    },
    close: async () => {
      await browser?.close()
      for (const server of servers) await server.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}

export type Stage = Awaited<ReturnType<typeof openStage>>

export const fill = async (page: Page, { login, password }: { readonly login: string; readonly password: string }) => {
  await page.getByLabel("Login").fill(login)
  await page.getByLabel("Password").fill(password)
}

export const allow = (page: Page) => page.getByRole("button", { name: "Log in and allow" })
export const deny = (page: Page) => page.getByRole("button", { name: "Deny" })

/** The code that the app got in the address bar. */
export const codeAt = (page: Page): string => {
  const code = new URL(page.url()).searchParams.get("code")
  assert.match(code ?? "", /^dh_ac_[A-Za-z0-9_-]{43}$/, page.url())
  return code ?? ""
}

/** What the app gets for a code. */
export const exchange = async (service: string, redirect_uri: string, code: string): Promise<number> => {
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    client_id: "p1",
    code,
    redirect_uri,
    code_verifier: pkce.verifier
  })
  const response = await fetch(`${service}/oauth/token`, { method: "POST", body })
  await response.arrayBuffer()
  return response.status
}
