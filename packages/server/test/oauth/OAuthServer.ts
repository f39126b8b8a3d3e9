/**
 * The HTTP surface with the real authorization server, and a minimal browser for tests.
 */
import {
  AuthorizationServer,
  AuthorizationSettings,
  Directory,
  DirectoryDocument,
  DocumentDirectory,
  MemoryStore
} from "@doorhook/core"
import type { AuthorizationSettingsShape, TokenStore } from "@doorhook/core"
import { afterAll, assert, beforeAll, onTestFinished } from "@effect/vitest"
import { filledIn, formIn } from "@doorhook/testkit/HtmlForm"
import type { HtmlForm } from "@doorhook/testkit/HtmlForm"
import { Effect, Layer, ManagedRuntime, Predicate, Result } from "effect"
import { httpDefaults, HttpSettings } from "../../src/http/HttpSettings.ts"
import type { HttpSettingsShape } from "../../src/http/HttpSettings.ts"
import { Listener } from "../../src/http/Listener.ts"
import { PublicUrl } from "../../src/http/PublicUrl.ts"
import { Appearance } from "../../src/ui/Page.ts"
import type { AppearanceShape } from "../../src/ui/Page.ts"
import { serve } from "../../src/Server.ts"
import { listener, services } from "../TestServer.ts"

export const redirectUri = "https://client.example/cb"
export const outOfBand = "urn:ietf:wg:oauth:2.0:oob"

/** A code verifier and its challenge, from RFC 7636 appendix B. */
export const pkce = {
  verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
  challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
} as const

export const secretOfC1 = "s1-very-secret"
export const admin = { login: "admin@example.com", password: "correct horse" } as const

const directory = Result.getOrThrow(
  DirectoryDocument.fromValue({
    clients: [
      { id: "c1", secret: secretOfC1, name: '<b>Acme</b> & "Sons"', redirect_uris: [redirectUri, outOfBand] },
      { id: "c2", secret: "s:2 /+%é", name: "Other", redirect_uris: ["https://other.example/cb"] },
      {
        id: "p1",
        name: "Pocket app",
        redirect_uris: ["http://127.0.0.1/cb", "http://[::1]/cb", "com.example.pocket:/done"]
      }
    ],
    users: [admin, { login: "tenant@example.com", password: "battery staple" }]
  })
)

export interface OAuthServerOptions {
  readonly publicUrl?: string
  readonly settings?: Partial<AuthorizationSettingsShape>
  readonly store?: Layer.Layer<TokenStore>
  readonly http?: Partial<HttpSettingsShape>
  readonly appearance?: AppearanceShape
  /** Finds the user who is logged in at the host, from the headers of the browser's request. */
  readonly session?: NonNullable<Directory["Service"]["session"]>
  /** Additional services for the server, such as a logger. */
  readonly around?: Layer.Layer<never>
}

/** The directory, with the host's sessions if given. */
const directoryOf = (session: OAuthServerOptions["session"]) =>
  Layer.effect(
    Directory,
    Effect.map(Directory, (known) => ({ ...known, ...(session !== undefined && { session }) }))
  ).pipe(Layer.provide(DocumentDirectory.layer(directory)))

const layerOf = ({ appearance, around, http, publicUrl, session, settings, store }: OAuthServerOptions) =>
  serve.pipe(
    Layer.provideMerge(AuthorizationServer.layer),
    Layer.provide(Layer.succeed(HttpSettings, { ...httpDefaults, ...http })),
    Layer.provide(Layer.succeed(Appearance, appearance ?? {})),
    Layer.provide(directoryOf(session)),
    Layer.provide(AuthorizationSettings.layer(settings)),
    Layer.provide(store ?? MemoryStore.layer),
    Layer.provide(MemoryStore.layer),
    Layer.provide(publicUrl === undefined ? PublicUrl.layerListening : Layer.orDie(PublicUrl.layer(publicUrl))),
    Layer.provide(services()),
    Layer.provideMerge(listener),
    Layer.provideMerge(around ?? Layer.empty),
    Layer.fresh
  )

const launch = async (options: OAuthServerOptions) => {
  const runtime = ManagedRuntime.make(layerOf(options))
  const { url } = await runtime.runPromise(Listener)
  return { url, run: <A>(effect: Effect.Effect<A>) => runtime.runPromise(effect), stop: () => runtime.dispose() }
}

/** Starts a server that stops with the current test. */
export const startServer = async (options: OAuthServerOptions = {}) => {
  const server = await launch(options)
  onTestFinished(server.stop)
  return server
}

/** Starts a server for all tests of a file. Its URL is known while tests run. */
export const sharedServer = (options: OAuthServerOptions = {}): { readonly url: string } => {
  const shared = { url: "", stop: () => Promise.resolve() }
  beforeAll(async () => void Object.assign(shared, await launch(options)))
  afterAll(() => shared.stop())
  return shared
}

type Fields = Readonly<Record<string, string>>

/** A URL with a query. */
export const withQuery = (url: string, fields: Fields): string => `${url}?${new URLSearchParams(fields).toString()}`

/** The form of a page with the values of its fields. */
export const formOf = (page: string): HtmlForm => formIn(page) ?? assert.fail(`there is no form:\n${page}`)

/** A browser that keeps cookies and does not follow redirects. */
export class Browser {
  readonly base: string
  readonly cookies = new Map<string, string>()

  constructor(base: string) {
    this.base = base
  }

  async request(path: string, init: RequestInit = {}) {
    const headers = new Headers(init.headers)
    if (this.cookies.size > 0) headers.set("cookie", [...this.cookies].map((pair) => pair.join("=")).join("; "))
    const response = await fetch(new URL(path, this.base), { ...init, headers, redirect: "manual" })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (name !== undefined && value !== undefined) this.cookies.set(name, value)
    }
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  /** Sends a request to the authorize step. */
  authorize(fields: Fields) {
    return this.request(withQuery("/oauth/authorize", fields))
  }

  /** Submits a form like a browser. */
  submit(form: HtmlForm, values: Fields) {
    return this.request(form.action, { method: "POST", body: filledIn(form, values) })
  }

  /** Logs in and returns the URL of the redirect. */
  async logIn(fields: Fields, user: Fields = admin): Promise<URL> {
    const answer = await this.submit(formOf((await this.authorize(fields)).text), user)
    return new URL(answer.headers.get("location") ?? assert.fail(`not redirected: ${answer.status} ${answer.text}`))
  }
}

export const authorizeC1: Fields = { client_id: "c1", redirect_uri: redirectUri, response_type: "code" }

/** Obtains a new code for c1. */
export const obtainCode = async (base: string, fields: Fields = authorizeC1): Promise<string> =>
  (await new Browser(base).logIn(fields)).searchParams.get("code") ?? assert.fail("there is no code")

/** The fields with which c1 exchanges a code. */
export const exchangeOf = (code: string): Fields => ({
  grant_type: "authorization_code",
  code,
  client_id: "c1",
  client_secret: secretOfC1,
  redirect_uri: redirectUri
})

/** Sends a body to an endpoint for clients, and parses the JSON answer. */
export const post = async (url: string, body: RequestInit["body"], headers: Fields = {}) => {
  const response = await fetch(url, { method: "POST", headers, ...(body !== undefined && { body }) })
  const json: unknown = await response.json()
  const textAt = (name: string): string => {
    const value: unknown = Predicate.isObject(json) ? Reflect.get(json, name) : undefined
    return Predicate.isString(value) ? value : ""
  }
  return { status: response.status, headers: response.headers, json, textAt }
}

/** Returns a multipart form with these fields. */
export const multipart = (fields: Fields): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}
