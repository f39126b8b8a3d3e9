/**
 * The frame of every page: one style sheet, no inline script, and headers that keep the page out of frames, caches and
 * referrers (RFC 9700 sections 4.2.4 and 4.16). The host can add to its look.
 */
import { Crypto, Html } from "@doorhook/core"
import { Context, Effect, Exit, Schema } from "effect"
import { Base64 } from "effect/encoding"
import type { Answer } from "../http/Route.ts"
import { formLook, listLook } from "./Styles.ts"

/** Headers of every answer that may carry a code, a token, or what leads to one. */
export const confidential = {
  "cache-control": "no-store",
  pragma: "no-cache",
  "referrer-policy": "no-referrer"
} as const

/** Sends the browser on with a GET, whatever the method was (RFC 9700 section 4.12). */
export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 303,
  headers: { ...confidential, location, ...headers },
  body: null
})

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
export const Appearance = Context.Reference<AppearanceShape>("@doorhook/server/ui/Appearance", {
  defaultValue: () => ({})
})

/** The parts of a page that differ. */
export interface PageContent {
  readonly title: string
  /** The language of its texts (BCP 47). */
  readonly lang: string
  readonly body: Html.Html
  /** HTML above the main part, given the host's logo and name. Without it they stand above the heading. */
  readonly header?: (brand: Html.Html | null) => Html.Html
  /** Path of the script of pages that refresh themselves; by default no script runs. */
  readonly script?: string
  /** Whether it is a page with lists, which is wide; by default it is a form. */
  readonly wide?: boolean
  /** How often the script asks for the page again, in seconds; by default never. */
  readonly refresh?: number
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

/** The host's logo and name. */
const brandOf = ({ logo, name }: AppearanceShape): Html.Html | null =>
  logo === undefined && name === undefined
    ? null
    : Html.template`<div class="brand">${logo === undefined ? null : Html.trusted(logo)}${name ?? null}</div>
`

/** Only the service's own script runs, and it can't turn text into HTML. */
const scripted = "script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"

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
  const styles = new Map<boolean, Exit.Exit<Style>>()

  const styleOf = (wide: boolean): Effect.Effect<Style> => {
    const known = styles.get(wide)
    if (known !== undefined) return known
    const text = formLook + (wide ? listLook : "") + (appearance.css ?? "")
    return Effect.mapEager(crypto.sha256(encoder.encode(text)), (hash) => {
      const style = { text, digest: Base64.encode(hash) }
      styles.set(wide, Exit.succeed(style))
      return style
    })
  }

  const documentOf = ({ body, header, lang, refresh, script, title }: PageContent, style: string): string =>
    Html.page({
      title,
      lang,
      style,
      head: script === undefined ? undefined : Html.template`<script src="${script}" defer></script>\n`,
      body: Html.template`${header?.(brand) ?? null}<main id="main" tabindex="-1"${refresh === undefined ? null : Html.template` data-refresh="${refresh}"`}>
${header === undefined ? brand : null}${body}
</main>`
    }).toString()

  const policyOf = ({ formsLeadOn, script }: PageContent, digest: string): string =>
    [
      `default-src 'none'; style-src 'sha256-${digest}'`,
      ...(formsLeadOn === true ? [] : ["form-action 'self'"]),
      "frame-ancestors 'none'; base-uri 'none'",
      ...(script === undefined ? [] : [scripted])
    ].join("; ")

  return {
    answer: (content) =>
      Effect.mapEager(styleOf(content.wide ?? false), ({ digest, text }) => ({
        status: content.status ?? 200,
        headers: {
          "content-type": "text/html; charset=utf-8",
          ...confidential,
          vary: "Accept-Language",
          "content-security-policy": policyOf(content, digest),
          "x-frame-options": "DENY",
          ...content.headers
        },
        body: documentOf(content, text)
      }))
  }
})
