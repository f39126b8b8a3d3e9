/**
 * What is taken out of every report, whichever form it has: reports are kept by builds and sent around.
 */
import { UrlPolicy } from "@doorhook/core"

const redacted = "(left out)"

const secretName = /signature|authorization|cookie|secret|token|api-?key|password/i

/** Header values that open something are left out. */
export const safeHeaders = (headers: Readonly<Record<string, string>>): ReadonlyArray<readonly [string, string]> =>
  Object.entries(headers).map(([name, value]) => [name, secretName.test(name) ? redacted : value])

/** Signing secrets and signatures in a text, wherever they come from. */
export const safeText = (text: string): string =>
  text
    .replaceAll(/whsec_[A-Za-z0-9+/=]{8,}/g, `whsec_${redacted}`)
    .replaceAll(/\bv1,[A-Za-z0-9+/]{40,}={0,2}/g, `v1,${redacted}`)

/** A URL without user information and without the values of its query. */
export const safeUrl = (text: string): string => (URL.canParse(text) ? UrlPolicy.shownUrl(new URL(text)) : text)
