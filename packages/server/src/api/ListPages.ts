/**
 * Pagination of lists: reads the requested page and builds its document.
 *
 * There are two styles of parameters: `page` and `per` for existing clients, and `page[number]` and `page[size]` as in
 * JSON:API. Links in a document use the style of the request.
 */
import { Effect, Exit, Semaphore } from "effect"
import type { Exchange } from "../http/Exchange.ts"
import type { KnownError, RequestFailure } from "../http/Failures.ts"
import { parameterFailure } from "../http/Failures.ts"
import type { QueryParameters, Read } from "../http/Query.ts"
import { all } from "../http/Query.ts"
import type { Pieces } from "../http/Route.ts"
import type { ApiSettingsShape } from "./ApiSettings.ts"

/** Names of the page size parameter, one for each style. */
export const sizeParameters = ["per", "page[size]"] as const

/** Names of all page parameters, in both styles. */
export const pageParameters = ["page", "page[number]", ...sizeParameters] as const
type PageParameter = (typeof pageParameters)[number]

const defaultPageSize = 50
const maxPageSize = 100

/** A requested page. */
export interface PageRequest {
  /** The number of the page, starting at 1. */
  readonly number: number
  readonly size: number
  /** The parameter names to use in links. */
  readonly names: { readonly number: PageParameter; readonly size: PageParameter }
}

/** Reads a number by either of its two names. A request may use only one of them. */
const readNumber = <Name extends PageParameter>(
  query: QueryParameters<Name>,
  names: readonly [Name, Name],
  range: { readonly from: number; readonly to: number; readonly otherwise: number }
): Read<number> => {
  const [plain, bracketed] = names
  if (query[plain] !== undefined && query[bracketed] !== undefined) {
    return Exit.fail(
      parameterFailure(bracketed, `\`${plain}\` and \`${bracketed}\` mean the same; send only one of them.`)
    )
  }
  const name = query[plain] === undefined ? bracketed : plain
  const text: string | undefined = query[name]
  if (text === undefined) return Exit.succeed(range.otherwise)
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= range.from && value <= range.to) return Exit.succeed(value)
  return Exit.fail(parameterFailure(name, `\`${name}\` must be a whole number from ${range.from} to ${range.to}.`))
}

/** Maximum number of items on a page, and the parameter name to use in links. */
export interface PageSize {
  readonly size: number
  readonly name: (typeof sizeParameters)[number]
}

/** Reads the page size from a query. */
export const readSize = (query: QueryParameters<(typeof sizeParameters)[number]>): Read<PageSize> =>
  Exit.map(
    readNumber(query, sizeParameters, { from: 1, to: maxPageSize, otherwise: defaultPageSize }),
    (size): PageSize => ({ size, name: query["page[size]"] === undefined ? "per" : "page[size]" })
  )

/** Reads the page from a query. Page 0 means the first page, like page 1. */
export const readPage = (query: QueryParameters<PageParameter>): Read<PageRequest> => {
  const bracketed = query["page[number]"] !== undefined || query["page[size]"] !== undefined
  const number = readNumber(query, ["page", "page[number]"], { from: 0, to: 999_999_999, otherwise: 1 })
  return Exit.map(all({ number, size: readSize(query) }), (page) => ({
    number: Math.max(1, page.number),
    size: page.size.size,
    names: bracketed ? { number: "page[number]", size: "page[size]" } : { number: "page", size: "per" }
  }))
}

/** Returns the number of items before a page. */
export const offsetOf = ({ number, size }: PageRequest): number => (number - 1) * size

/**
 * Makes the `meta.page_info` of a page of `count` items out of `total`. `next_page` and `prev_page` are null if there is
 * no such page. For a page beyond the end, the previous page is the last one.
 */
export const pageInfo = ({ number, size }: PageRequest, count: number, total: number) => {
  const total_pages = Math.ceil(total / size)
  const last_page = Math.max(1, total_pages)
  return {
    current_page: number,
    total_pages,
    total_item_count: total,
    page_item_count: count,
    page_size: size,
    next_page: number < last_page ? number + 1 : null,
    prev_page: number > 1 ? Math.min(number - 1, last_page) : null,
    first_page: 1,
    last_page
  }
}

/**
 * Makes the links to the first, previous, next and last pages (JSON:API 1.1 section 5.6). `url` is the URL of the list
 * without page parameters.
 */
export const pageLinks = (url: string, { names, size }: PageRequest, info: ReturnType<typeof pageInfo>) => {
  const linkTo = (number: number): string =>
    `${url}${url.includes("?") ? "&" : "?"}${new URLSearchParams([
      [names.number, String(number)],
      [names.size, String(size)]
    ]).toString()}`
  return {
    first: linkTo(info.first_page),
    prev: info.prev_page === null ? null : linkTo(info.prev_page),
    next: info.next_page === null ? null : linkTo(info.next_page),
    last: linkTo(info.last_page)
  }
}

/** A page of a list. */
interface PageOf {
  /** The URL of the list, with its parameters except for the page parameters. */
  readonly url: string
  readonly page: PageRequest
  /** The number of items in the list, up to the counting limit. */
  readonly total: number
  /** Whether the list has more items than the counting limit. */
  readonly isCapped?: boolean
}

/** Returns the members of a page's document beside `data`, for a page of `count` items. */
export const pageMembers = (
  { isCapped, page, total, url }: PageOf,
  count: number,
  { topLevelPageInfo }: Pick<ApiSettingsShape, "topLevelPageInfo">
): object => {
  const page_info = { ...pageInfo(page, count, total), ...(isCapped === true && { total_is_capped: true }) }
  return { links: pageLinks(url, page, page_info), meta: { page_info }, ...(topLevelPageInfo && { page_info }) }
}

/** Builds the document of a page from items that are JSON texts. */
export const listText = (
  page: PageOf,
  items: ReadonlyArray<string>,
  settings: Pick<ApiSettingsShape, "topLevelPageInfo">
): string => `{"data":[${items.join(",")}],${JSON.stringify(pageMembers(page, items.length, settings)).slice(1)}`

/** Part of a list. */
export interface ListPart {
  /** The items, as JSON texts. Only the last part may be empty. */
  readonly items: ReadonlyArray<string>
  /** Reads the next part; null after the last one. */
  readonly rest: Effect.Effect<ListPart, KnownError> | null
}

/** Bounds the parts in memory that are not counted as part of an answer yet. */
const readers = Semaphore.makeUnsafe(8)

/** Reads and formats the first part of a list, unless the client has too many unread answers. */
export const readPart = <A, E, R>(x: Exchange, read: Effect.Effect<A, E, R>): Effect.Effect<A, E | RequestFailure, R> =>
  readers.withPermit(Effect.suspend((): Effect.Effect<A, E | RequestFailure, R> => x.piecesRefusal() ?? read))

/**
 * Builds the document of a list from its first part. If there are more parts, each is read when the client has taken the
 * previous one. `members` returns the members beside `data`, given the number of items.
 */
export const listDocument = (first: ListPart, members: (count: number) => object): string | Pieces => {
  let count = 0
  let { rest } = first
  const textOf = (part: ListPart): string => {
    const items = part.items.join(",")
    const text = count === 0 ? `{"data":[${items}` : items === "" ? "" : `,${items}`
    count += part.items.length
    rest = part.rest
    return rest === null ? `${text}],${JSON.stringify(members(count)).slice(1)}` : text
  }
  let begun: string | null = textOf(first)
  if (rest === null) return begun
  return {
    next: Effect.suspend((): Effect.Effect<string | null, KnownError> => {
      const text = begun
      begun = null
      if (text !== null) return Exit.succeed(text)
      return rest === null ? Exit.succeed(null) : Effect.map(readers.withPermit(rest), textOf)
    })
  }
}
