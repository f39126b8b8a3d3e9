/**
 * The frame that every page for people has: one style sheet, no script, and headers that keep the page out of frames,
 * caches and referrers (RFC 9700 sections 4.2.4 and 4.16).
 */
import { Crypto, Html } from "@doorhook/core"
import { Effect } from "effect"
import { Base64 } from "effect/encoding"
import { HttpServerResponse } from "effect/http"
import { confidential } from "./Answers.ts"
import type { AppearanceShape } from "./Appearance.ts"
import { Appearance } from "./Appearance.ts"

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
form + p { margin: 1rem 0 0 }
.brand { margin: 0 0 1rem; font-weight: 600 }
a { color: var(--accent) }
:focus-visible { outline: .1875rem solid var(--accent); outline-offset: .125rem }
code { display: block; margin: 0 0 1rem; padding: .75rem; border: 1px dashed var(--line); border-radius: .5rem;
  font: 1rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; user-select: all }
`

/** The parts of a page that differ. */
export interface PageContent {
  readonly title: string
  readonly body: Html.Html
  /** What stands above the page's main part. */
  readonly header?: Html.Html
  /** Rules between doorhook's own and the host's. */
  readonly style?: string
  /** What the page may do beyond standing still, as directives of a content security policy. */
  readonly allows?: ReadonlyArray<string>
  /** Whether a form of the page leads on to addresses that nobody can name beforehand; default is that it stays here. */
  readonly formsLeadOn?: boolean
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** The host's logo and name, above everything else. */
const brand = ({ logo, name }: AppearanceShape): Html.Html | null =>
  logo === undefined && name === undefined
    ? null
    : Html.template`<div class="brand">${logo === undefined ? null : Html.trusted(logo)}${name ?? null}</div>
`

const documentOf = ({ title, body, header }: PageContent, style: string, appearance: AppearanceShape): Html.Html =>
  Html.page({
    title,
    style,
    body: Html.template`${header ?? null}<main>
${brand(appearance)}${body}
</main>`
  })

/** Answers a page. The style sheet, the host's with it, is allowed by its digest: no other style, and nothing else, is loaded. */
export const answer = Effect.fnUntraced(function* (content: PageContent) {
  const crypto = yield* Crypto
  const appearance = yield* Appearance
  const style = styleSheet + (content.style ?? "") + (appearance.css ?? "")
  const digest = Base64.encode(yield* crypto.sha256(new TextEncoder().encode(style)))
  const formAction = content.formsLeadOn === true ? [] : ["form-action 'self'"]
  return HttpServerResponse.text(documentOf(content, style, appearance).toString(), {
    status: content.status ?? 200,
    contentType: "text/html; charset=utf-8",
    headers: {
      ...confidential,
      "content-security-policy": [
        `default-src 'none'; style-src 'sha256-${digest}'`,
        ...formAction,
        "frame-ancestors 'none'; base-uri 'none'",
        ...(content.allows ?? [])
      ].join("; "),
      "x-frame-options": "DENY",
      ...content.headers
    }
  })
})
