/**
 * Decides which URLs an integration may have.
 */
import { Result } from "effect"
import type { AllowList } from "./AddressPolicy.ts"
import type { Sentence } from "./Sentences.ts"
import { say } from "./Sentences.ts"
import { isAllowedAddress } from "./AddressPolicy.ts"

/** Maximum length of a URL, in characters. */
export const maxUrlLength = 2_048

/** A problem with a URL. `said` describes what is accepted. */
export interface UrlProblem {
  readonly code: "not_a_url" | "scheme" | "too_long" | "userinfo" | "fragment" | "refused_address"
  readonly said: Sentence
}

const problem = (code: UrlProblem["code"], values?: Sentence["values"]): Result.Result<never, UrlProblem> =>
  Result.fail({ code, said: say(`url_${code}`, values) })

/** Returns the host of a URL without the brackets of an IPv6 literal and without a trailing dot. */
export const hostOf = (url: URL): string => url.hostname.replaceAll(/[[\]]/g, "").replace(/\.$/, "")

/** Returns the part of a URL that may be logged: host and port. The rest may contain secrets of the receiver. */
export const shownHost = (text: string): string => URL.parse(text)?.host ?? "an unusable URL"

/** Placeholder for the query of a shown URL. It is not accepted as a query. */
export const hiddenQuery = "?..."

/**
 * Returns the part of a URL that its owner may see: everything except the user name and query, which may contain
 * secrets.
 */
export const shownUrl = (url: URL): string => `${url.origin}${url.pathname}${url.search === "" ? "" : hiddenQuery}`

/** Returns the problem with a URL that was copied from a place that hides its query; null for other URLs. */
export const hiddenQueryFlaw = (text: string): string | null =>
  text.endsWith(hiddenQuery)
    ? `${hiddenQuery} stands for a query that reports leave out, because it may contain a secret. Write the query itself.`
    : null

/** Whether a host is an address instead of a name. The WHATWG parser has already normalized IPv4 spellings. */
export const isAddressLiteral = (host: string): boolean => host.includes(":") || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(host)

/** Checks a URL without resolving its host name. */
export const check = (text: string, allow: AllowList): Result.Result<URL, UrlProblem> => {
  if (text.length > maxUrlLength) return problem("too_long", { most: maxUrlLength })
  // The URL parser drops some of these characters or reads them as slashes, but the stored URL must be the requested
  // one. No URL contains them on purpose, and some of them control the terminal that shows the URL.
  const url = /[\s\\\p{Cc}]/u.test(text) ? null : URL.parse(text)
  if (url === null) return problem("not_a_url")
  if (url.protocol !== "http:" && url.protocol !== "https:") return problem("scheme")
  const host = hostOf(url)
  // The URL parser accepts `http:host` and host names with empty labels.
  if (!/^https?:\/\/[^/]/i.test(text) || host.split(".").includes("")) return problem("not_a_url")
  // The URL parser drops an empty user name, but the stored text would keep it.
  if (/^[^/]*\/\/[^/?#]*@/.test(text)) return problem("userinfo")
  if (text.includes("#")) return problem("fragment")
  if (isAddressLiteral(host) && !isAllowedAddress(host, allow)) return refusedAddress(host)
  return Result.succeed(url)
}

/**
 * Checks the addresses that a URL's host name resolves to now. An empty list is accepted, because the DNS entry may be
 * created later.
 */
export const checkAddresses = (addresses: ReadonlyArray<string>, allow: AllowList): Result.Result<void, UrlProblem> => {
  const bad = addresses.find((address) => !isAllowedAddress(address, allow))
  return bad === undefined ? Result.void : refusedAddress(bad)
}

const refusedAddress = (address: string): Result.Result<never, UrlProblem> => problem("refused_address", { address })
