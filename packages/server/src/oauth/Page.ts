/**
 * The frame of every page for people: one style sheet, no script, and headers that keep the page out of frames, caches and
 * referrers (RFC 9700 sections 4.2.4 and 4.16). The host can add to its look. Below it, the pages that end the authorize step.
 */
import type { AuthorizeRequest } from "@doorhook/core"
import { codeLifetimeSeconds, Crypto, Html } from "@doorhook/core"
import { Context, Effect, Exit, Schema } from "effect"
import { Base64 } from "effect/encoding"
import type { Answer } from "../http/Route.ts"

/** Headers of every answer that may carry a code, a token, or what leads to one. */
export const confidential = {
  "cache-control": "no-store",
  pragma: "no-cache",
  "referrer-policy": "no-referrer"
} as const

/** CSS stands between the tags of a style element, which it must not end. */
const StyleSheet = Schema.String.check(
  Schema.makeFilter((css) => !/<\/style/i.test(css) || "must be CSS, without the end of a style element")
)

/** The host's own look of the pages. The content security policy stays as it is: nothing is loaded and no script runs. */
export interface AppearanceShape {
  /** Rules after doorhook's own. What they refer to by URL is not loaded. */
  readonly css?: string
  /** HTML above the page's heading, inserted unchanged: an inline SVG, as images are not loaded. */
  readonly logo?: string
  /** The name of the service, above the page's heading. */
  readonly name?: string
}
export const AppearanceShape: Schema.Codec<AppearanceShape> = Schema.Struct({
  css: Schema.optionalKey(StyleSheet),
  logo: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String)
})

/** Read when the routes are built. */
export const Appearance = Context.Reference<AppearanceShape>("@doorhook/server/oauth/Appearance", {
  defaultValue: () => ({})
})

/** The parts of a page that differ. */
export interface PageContent {
  readonly title: string
  readonly body: Html.Html
  /** HTML above the page's main part. */
  readonly header?: Html.Html
  /** Rules between doorhook's own and the host's. A constant: its digest is kept. */
  readonly style?: string
  /** Further permissions, as directives of a content security policy. */
  readonly allows?: ReadonlyArray<string>
  /** Whether a form of the page leads on to addresses that are not known beforehand; by default forms stay here. */
  readonly formsLeadOn?: boolean
  /** 200 by default. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers with pages in the look of the host. */
export interface Pages {
  readonly answer: (content: PageContent) => Effect.Effect<Answer>
}

/** The host's logo and name, above everything else. */
const brandOf = ({ logo, name }: AppearanceShape): Html.Html | null =>
  logo === undefined && name === undefined
    ? null
    : Html.template`<div class="brand">${logo === undefined ? null : Html.trusted(logo)}${name ?? null}</div>
`

/** A style sheet, and its SHA-256 in base64. */
interface Style {
  readonly text: string
  readonly digest: string
}

const encoder = new TextEncoder()

/** Builds pages. A style sheet is allowed by its digest: no other style, and nothing else, is loaded. */
export const makePages: Effect.Effect<Pages, never, Crypto> = Effect.gen(function* () {
  const crypto = yield* Crypto
  const appearance = yield* Appearance
  const brand = brandOf(appearance)
  const styles = new Map<string, Exit.Exit<Style>>()

  const styleOf = (own: string): Effect.Effect<Style> => {
    const known = styles.get(own)
    if (known !== undefined) return known
    const text = styleSheet + own + (appearance.css ?? "")
    return Effect.mapEager(crypto.sha256(encoder.encode(text)), (hash) => {
      const style = { text, digest: Base64.encode(hash) }
      styles.set(own, Exit.succeed(style))
      return style
    })
  }

  const documentOf = ({ title, body, header }: PageContent, style: string): string =>
    Html.page({
      title,
      style,
      body: Html.template`${header ?? null}<main>
${brand}${body}
</main>`
    }).toString()

  const policyOf = ({ allows, formsLeadOn }: PageContent, digest: string): string =>
    [
      `default-src 'none'; style-src 'sha256-${digest}'`,
      ...(formsLeadOn === true ? [] : ["form-action 'self'"]),
      "frame-ancestors 'none'; base-uri 'none'",
      ...(allows ?? [])
    ].join("; ")

  return {
    answer: (content) =>
      Effect.mapEager(styleOf(content.style ?? ""), ({ digest, text }) => ({
        status: content.status ?? 200,
        headers: {
          "content-type": "text/html; charset=utf-8",
          ...confidential,
          "content-security-policy": policyOf(content, digest),
          "x-frame-options": "DENY",
          ...content.headers
        },
        body: documentOf(content, text)
      }))
  }
})

/** Shows a code to copy. An attacker on the phone may have asked the user to read it out: the page warns of that. */
export const codePage = (request: AuthorizeRequest, code: string): PageContent => ({
  title: `Code for ${request.client.name}`,
  body: Html.template`<h1>Your code</h1>
<p>Copy this code into <strong>${request.client.name}</strong>:</p>
<code id="authorization_code">${code}</code>
<p class="muted">It works once, within ${String(codeLifetimeSeconds / 60)} minutes. Anyone who has it gets access in your
name. Never give it to somebody who calls or writes to ask for it.</p>`
})

/** Says that the user's session at the host has ended, with a link to log in again. */
export const returnPage = (request: AuthorizeRequest, url: string): PageContent => ({
  title: `Error: log in again for ${request.client.name}`,
  status: 403,
  body: Html.template`<h1>Log in again</h1>
<p class="alert" role="alert">You are not logged in any more. Nothing was shared with the application.</p>
<p><a href="${url}">Log in and go on</a></p>`
})

/** Says what went wrong and what to do about it. */
export const problemPage = (
  message: string,
  status: number,
  headers: Readonly<Record<string, string>> = {}
): PageContent => ({
  title: "Error: log-in is not possible",
  status,
  headers,
  body: Html.template`<h1>Log-in is not possible</h1>
<p class="alert" role="alert">${message}</p>
<p>Go back to the application and start again. If that does not help, send its maker the text of this page.</p>`
})

const styleSheet = `
:root { color-scheme: light dark; --ground: #f3f4f6; --card: #ffffff; --text: #1b2430; --muted: #55606e;
  --line: #7d8794; --accent: #1d5bb8; --on-accent: #ffffff; --alert: #9c1f1b; --alert-ground: #fdeeec }
@media (prefers-color-scheme: dark) { :root { --ground: #14181d; --card: #1e242b; --text: #e8ecf1; --muted: #aab4c0;
  --line: #78828e; --accent: #8bb8ff; --on-accent: #10233f; --alert: #ffb4ac; --alert-ground: #3a1d1b } }
* { box-sizing: border-box }
body { margin: 0; padding: 6vh 1rem 2rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 25rem; margin: 0 auto; padding: 2rem 1.5rem; background: var(--card); border-radius: .75rem;
  box-shadow: 0 1px 3px rgb(0 0 0 / .15) }
h1 { margin: 0 0 .75rem; font-size: 1.5rem; line-height: 1.25 }
p { margin: 0 0 1rem; overflow-wrap: anywhere }
.muted { color: var(--muted); font-size: .9375rem }
.alert { margin: 0 0 1rem; padding: .75rem 1rem; border-left: .25rem solid var(--alert); border-radius: .25rem;
  background: var(--alert-ground); color: var(--alert) }
label { display: block; margin-bottom: .25rem; font-weight: 600 }
input { width: 100%; min-height: 2.75rem; margin-bottom: 1rem; padding: .5rem .75rem; border: 1px solid var(--line);
  border-radius: .5rem; background: var(--card); color: var(--text); font: inherit }
button { width: 100%; min-height: 2.75rem; margin-top: .5rem; padding: .5rem 1rem; border: 1px solid var(--accent);
  border-radius: .5rem; background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600;
  cursor: pointer }
button.quiet { background: none; color: var(--accent) }
.scopes { margin: 0 0 1rem; padding-left: 1.25rem }
form + p { margin: 1rem 0 0 }
.brand { margin: 0 0 1rem; font-weight: 600 }
a { color: var(--accent) }
:focus-visible { outline: .1875rem solid var(--accent); outline-offset: .125rem }
code { display: block; margin: 0 0 1rem; padding: .75rem; border: 1px dashed var(--line); border-radius: .5rem;
  font: 1rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; user-select: all }
`
