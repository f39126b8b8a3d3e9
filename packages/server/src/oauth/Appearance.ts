/**
 * The host's own look of the pages that people see: a style sheet over doorhook's, a logo, a name. The pages' content
 * security policy stays as it is: neither loads anything, and no script runs.
 */
import { Context, Schema } from "effect"

/** A style sheet is put into the page between tags of its own, which it must not end. */
const StyleSheet = Schema.String.check(
  Schema.makeFilter((css) => !/<\/style/i.test(css) || "must be CSS, without the end of a style element")
)

/** The host's own look of the pages. */
export interface AppearanceShape {
  /** Rules that come after doorhook's own. What they refer to by URL is not loaded. */
  readonly css?: string
  /** HTML above the page's heading, put in as it is: an inline SVG, as images are not loaded. */
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
