/**
 * Which URLs an integration may have.
 */
import { Result } from "effect"
import type { AllowList } from "./AddressPolicy.ts"
import type { Sentence } from "./Sentences.ts"
import { say } from "./Sentences.ts"
import { isAllowedAddress } from "./AddressPolicy.ts"

/** The longest URL, in characters. */
export const maxUrlLength = 2_048

/** What is wrong with a URL; `said` says what is accepted. */
export interface UrlProblem {
  readonly code: "not_a_url" | "scheme" | "too_long" | "userinfo" | "fragment" | "refused_address"
  readonly said: Sentence
}

const problem = (code: UrlProblem["code"], values?: Sentence["values"]): Result.Result<never, UrlProblem> =>
  Result.fail({ code, said: say(`url_${code}`, values) })

/** The host of a URL without the brackets of an IPv6 literal and without a trailing dot. */
export const hostOf = (url: URL): string => url.hostname.replaceAll(/[[\]]/g, "").replace(/\.$/, "")

/** What of a URL may stand in a log: its host and port. Path, query and user name hold the receiver's secrets. */
export const shownHost = (text: string): string => URL.parse(text)?.host ?? "an unusable URL"

/** What stands for the query of a URL where it is shown. It is not taken for one. */
export const hiddenQuery = "?..."

/** What of a URL may be shown to whoever gave it: all but its user name and its query, which may hold secrets. */
export const shownUrl = (url: URL): string => `${url.origin}${url.pathname}${url.search === "" ? "" : hiddenQuery}`

/** What is wrong with a URL that was copied from where its query is hidden; null with any other. */
export const hiddenQueryFlaw = (text: string): string | null =>
  text.endsWith(hiddenQuery)
    ? `${hiddenQuery} stands for a query that reports leave out, because it may hold a secret. Write the query itself.`
    : null

/** Whether a host is an address rather than a name. WHATWG URLs have brought IPv4 spellings to dotted form already. */
export const isAddressLiteral = (host: string): boolean => host.includes(":") || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(host)

/** Checks everything about a URL that needs no look-up of its name. */
export const check = (text: string, allow: AllowList): Result.Result<URL, UrlProblem> => {
  if (text.length > maxUrlLength) return problem("too_long", { most: maxUrlLength })
  // The URL parser drops some of these or takes them for slashes, and what is stored must be what is called. None is in a URL
  // that somebody means, and some steer the terminal that shows it.
  const url = /[\s\\\p{Cc}]/u.test(text) ? null : URL.parse(text)
  if (url === null) return problem("not_a_url")
  if (url.protocol !== "http:" && url.protocol !== "https:") return problem("scheme")
  const host = hostOf(url)
  // The URL parser reads `http:host` as a URL, and lets empty labels pass that no name can have.
  if (!/^https?:\/\/[^/]/i.test(text) || host.split(".").includes("")) return problem("not_a_url")
  // An empty one is dropped by the URL parser, but the text is what is stored.
  if (/^[^/]*\/\/[^/?#]*@/.test(text)) return problem("userinfo")
  if (text.includes("#")) return problem("fragment")
  if (isAddressLiteral(host) && !isAllowedAddress(host, allow)) return refusedAddress(host)
  return Result.succeed(url)
}

/** Checks the addresses that a URL's name has now. No address at all is fine: the name may be set up later. */
export const checkAddresses = (addresses: ReadonlyArray<string>, allow: AllowList): Result.Result<void, UrlProblem> => {
  const bad = addresses.find((address) => !isAllowedAddress(address, allow))
  return bad === undefined ? Result.void : refusedAddress(bad)
}

const refusedAddress = (address: string): Result.Result<never, UrlProblem> => problem("refused_address", { address })
