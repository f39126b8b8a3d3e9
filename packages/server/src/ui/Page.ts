/**
 * The HTML document around every page. It has one style sheet, no inline script, and headers that forbid framing,
 * caching and referrers (RFC 9700 sections 4.2.4 and 4.16). The host can add a logo, a name and style rules.
 */
import { Crypto, Html } from "@doorhook/core"
import { Context, Data, Effect, Exit, Schema } from "effect"
import { Base64, Base64Url } from "effect/encoding"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { notFound } from "../http/Failures.ts"
import type { Answer, Handler } from "../http/Route.ts"
import { accentLook, formLook, listLook } from "./Styles.ts"

/** Headers of every answer that can contain a code, a token, or a link with a token. */
export const confidential = {
  "cache-control": "no-store",
  pragma: "no-cache",
  "referrer-policy": "no-referrer"
} as const

/** Makes a redirect that the browser follows with GET, whatever the method of the request (RFC 9700 section 4.12). */
export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 303,
  headers: { ...confidential, location, ...headers },
  body: null
})

/** CSS that can't close the style element around it. */
const StyleSheet = Schema.String.check(
  Schema.makeFilter((css) => !/<\/style/i.test(css) || "must be CSS without `</style`")
)

/**
 * Customizes the look of the pages. The Content-Security-Policy still blocks scripts other than doorhook's, and the
 * loading of images, fonts and other files.
 */
export interface AppearanceShape {
  /** The color of buttons and links, like `#0a7f5a`. Adapted where the contrast would be too low to read. */
  readonly accent?: string
  /** Style rules, added after doorhook's own. URLs in them are not loaded. */
  readonly css?: string
  /** HTML above the page's heading, inserted unchanged. Use an inline SVG, because image files are not loaded. */
  readonly logo?: string
  /** The name of the service, above the page's heading. */
  readonly name?: string
}
export const AppearanceShape: Schema.Codec<AppearanceShape> = Schema.Struct({
  accent: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^#[0-9a-fA-F]{6}$/, { message: "must be a color like #0a7f5a" }))
  ),
  css: Schema.optionalKey(StyleSheet),
  logo: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String)
})

/** The host's customization of the pages, read when the routes are built. */
export const Appearance = Context.Reference<AppearanceShape>("@doorhook/server/ui/Appearance", {
  defaultValue: () => ({})
})

/** An http or https URL, because other links could run scripts. */
export const HomeUrlShape = Schema.String.check(
  Schema.makeFilter((url) => (/^https?:\/\/[^/]/i.test(url) && URL.canParse(url)) || "must be an http or https URL")
)

/** The page of the host's product, read when the routes are built; null if the host gave none. */
export const HomeUrl = Context.Reference<string | null>("@doorhook/server/ui/HomeUrl", { defaultValue: () => null })

/** The variable parts of a page. */
export interface PageContent {
  readonly title: string
  /** Language of the page (BCP 47). */
  readonly lang: string
  readonly body: Html.Html
  /**
   * Makes the HTML above the main part from the host's logo and name. By default, logo and name are above the heading.
   */
  readonly header?: (brand: Html.Html | null, home: string | null) => Html.Html
  /** Path of the page's script; by default no script runs. */
  readonly script?: string
  /** Time zone of the page's times (IANA name). */
  readonly zone?: string
  /** Whether the page is wide, for lists. By default, the page has the width of a form. */
  readonly wide?: boolean
  /** Interval at which the script refreshes the page, in seconds; by default never. */
  readonly refresh?: number
  /** Whether the page's form may lead to a redirect to any address; by default only to this origin. */
  readonly formsLeadOn?: boolean
  /** 200 by default. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Formats the host's logo and name as HTML; null if there are neither. */
const brandOf = ({ logo, name }: AppearanceShape): Html.Html | null =>
  logo === undefined && name === undefined
    ? null
    : Html.template`<div class="brand">${logo === undefined ? null : Html.trusted(logo)}${name ?? null}</div>
`

/**
 * Content-Security-Policy for pages with a script: only the service's own script runs, and it can't turn text into
 * HTML.
 */
const scripted = "script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"

/** A style sheet, and its SHA-256 in base64. */
interface Style {
  readonly text: string
  readonly digest: string
}

const encoder = new TextEncoder()

/**
 * Makes the builder of pages. The pages' Content-Security-Policy allows the style sheet by its digest, and blocks
 * everything else by default.
 */
export const makePages = Effect.gen(function* () {
  const crypto = yield* Crypto
  const appearance = yield* Appearance
  const brand = brandOf(appearance)
  const home = yield* HomeUrl
  const styles = new Map<boolean, Exit.Exit<Style>>()

  const styleOf = (wide: boolean): Effect.Effect<Style> => {
    const known = styles.get(wide)
    if (known !== undefined) return known
    const text = formLook + (wide ? listLook : "") + accentLook(appearance.accent) + (appearance.css ?? "")
    return Effect.mapEager(crypto.sha256(encoder.encode(text)), (hash) => {
      const style = { text, digest: Base64.encode(hash) }
      styles.set(wide, Exit.succeed(style))
      return style
    })
  }

  const documentOf = ({ body, header, lang, refresh, script, title, zone }: PageContent, style: string): string =>
    Html.page({
      title,
      lang,
      style,
      head: script === undefined ? undefined : Html.template`<script src="${script}" defer></script>\n`,
      body: Html.template`${header?.(brand, home) ?? null}<main id="main" tabindex="-1"${zone === undefined ? null : Html.template` data-zone="${zone}"`}${refresh === undefined ? null : Html.template` data-refresh="${refresh}"`}>
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
    /** Builds the answer with a page, with the host's look. */
    answer: (content: PageContent): Effect.Effect<Answer> =>
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
export type Pages = Effect.Success<typeof makePages>

/** The script's file is missing, usually because a bundler left it out. */
class ScriptMissing extends Data.TaggedError("ScriptMissing")<{ readonly cause: unknown }> {
  override get message(): string {
    return "Can't read live.js, the script of the pages, so they don't refresh themselves. If the backend is bundled, install @doorhook/server beside the bundle."
  }
}

const read: Effect.Effect<string, ScriptMissing> = Effect.tryPromise({
  try: () => {
    const manifest = createRequire(import.meta.url).resolve("@doorhook/server/package.json")
    return readFile(join(dirname(manifest), "src/ui/static/live.js"), "utf8")
  },
  catch: (cause) => new ScriptMissing({ cause })
})

/**
 * Answers with the script. Browsers revalidate the script each time, so they don't run an old version after an update.
 */
export const liveScript = Effect.map(
  Crypto,
  (crypto): Handler =>
    (x) =>
      Effect.gen(function* () {
        const text = yield* read
        const digest = yield* crypto.sha256(encoder.encode(text))
        const etag = `"${Base64Url.encode(digest.slice(0, 18))}"`
        const headers = { etag, "cache-control": "no-cache" }
        if (x.header("if-none-match") === etag) return { status: 304, headers, body: null }
        return { status: 200, headers: { "content-type": "text/javascript; charset=utf-8", ...headers }, body: text }
      }).pipe(
        Effect.catchTag("ScriptMissing", ({ cause, message }) =>
          Effect.andThen(Effect.logError(message, cause), Effect.fail(notFound(message)))
        )
      )
)
