/**
 * A setup for logins in a browser: a service, an app at its redirect URI, and authorize URLs.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { Page } from "playwright-core"
import { listening } from "@doorhook/testkit/ListeningServer"
import { authorizeUrl, challenge, exchange, pkce } from "../harness/CodeGrant.ts"
import { serveHere } from "../harness/InProcess.ts"
import { acme, directory } from "../harness/KnownDirectory.ts"
import { openSites, welcome } from "./Sites.ts"
import { openVisitors } from "./Visitors.ts"

/** OAuth `state` with characters that forms, URLs and HTML encode in different ways. */
export const state = " s t/á\"'<&amp;>+%25\\🚪\ufeff\u2028 "

export const openLoginStage = Effect.gen(function* () {
  const { url } = yield* serveHere(["--database", "memory", "--directory", directory])
  const site = yield* openSites
  const app = yield* Effect.promise(() => site(welcome))
  // The client's callback, which redirects to the app on another origin.
  const entrance = yield* listening(
    createServer(({ url: target = "/" }, response) => response.writeHead(302, { location: app + target }).end())
  )
  const visitors = yield* openVisitors
  const client = { client_id: "p1", redirect_uri: `${app}/cb` }
  const way = { state, ...challenge }
  return {
    ...visitors,
    url,
    app,
    callback: client.redirect_uri,
    /** Authorize URL that redirects to the app after the login. */
    toApp: authorizeUrl(url, client, way),
    /** Authorize URL that redirects to the client's callback after the login. The callback redirects to the app. */
    toEntrance: authorizeUrl(url, { ...client, redirect_uri: `${entrance.url}/cb` }, way),
    /** Authorize URL with the client's secret in the query. After the login, a page shows the code. */
    outOfBand: `${url}/oauth/authorize?client_id=${acme.client_id}&response_type=code&client_secret=${acme.client_secret}`,
    site,
    /** Exchanges a code for tokens, and returns the response's status. */
    exchange: async (code: string): Promise<number> => {
      const body = { ...client, code_verifier: pkce.verifier }
      const response = await exchange(url, body, code)
      await response.arrayBuffer()
      return response.status
    }
  }
})

export const fill = async (page: Page, { login, password }: { readonly login: string; readonly password: string }) => {
  await page.getByLabel("Login").fill(login)
  await page.getByLabel("Password").fill(password)
}

export const allow = (page: Page) => page.getByRole("button", { name: "Log in and allow" })
export const deny = (page: Page) => page.getByRole("button", { name: "Deny" })

/** Returns the code in the app's address bar. */
export const codeAt = (page: Page): string => {
  const code = new URL(page.url()).searchParams.get("code")
  assert.match(code ?? "", /^dh_ac_[A-Za-z0-9_-]{43}$/, page.url())
  return code ?? ""
}
