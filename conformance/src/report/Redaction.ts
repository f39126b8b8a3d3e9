/**
 * What is left out of every form of a report: builds keep reports, and people send them around.
 */
import { UrlPolicy } from "@doorhook/core"

const redacted = "(left out)"

const secretName = /signature|authorization|cookie|secret|token|api-?key|password/i

/** Headers without the values that may be secrets. */
export const safeHeaders = (headers: Readonly<Record<string, string>>): ReadonlyArray<readonly [string, string]> =>
  Object.entries(headers).map(([name, value]) => [name, secretName.test(name) ? redacted : value])

/** A text without signing secrets and signatures. */
export const safeText = (text: string): string =>
  text
    .replaceAll(/(whs(?:ec|k)_)[A-Za-z0-9+/=]{8,}/g, `$1${redacted}`)
    .replaceAll(/\b(v1a?,)[A-Za-z0-9+/]{40,}={0,2}/g, `$1${redacted}`)

/** A URL without user information and without the values of its query. */
export const safeUrl = (text: string): string => (URL.canParse(text) ? UrlPolicy.shownUrl(new URL(text)) : text)
