/**
 * HTML of a report: what opens something is left out of every text, and what can't be seen is shown.
 */
import { Html } from "@doorhook/core"
import { safeText } from "../Redaction.ts"

/** A text without secrets. Characters that turn the direction of writing or can't be seen are shown as their code. */
const shown = (text: string): string =>
  safeText(text)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (one) =>
      one === "\n" ? one : `\\u${(one.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`
    )

export const html = Html.templateWith(shown)

/** The HTML if there is something to show. */
export const when = (condition: boolean, content: () => Html.Html): Html.Html => (condition ? content() : Html.nothing)
