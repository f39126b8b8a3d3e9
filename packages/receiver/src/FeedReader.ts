/**
 * Reads a feed of doorhook by cursor: what an integration should have received, or the events of a building or tenant.
 * A receiver closes the gap of an outage with it and can prove that nothing is missing.
 */
import { isObject } from "./Delivery.ts"
import type { WebhookEvent } from "./Delivery.ts"
import { InvalidOption } from "./Problem.ts"

export interface FeedOptions {
  /**
   * The address of the feed: `https://.../v4/buildings/1/integrations/7/deliveries`, or `https://.../v4/buildings/1/events`.
   */
  readonly url: string
  /** An access token, or a function that returns one. It is called again when doorhook refuses the last one. */
  readonly token: string | (() => string | Promise<string>)
  /** The `cursor` of the last page that was stored; null or absent to begin with the oldest item. */
  readonly after?: string | null
  /** Where to begin without a cursor: the first item published at this time or later. */
  readonly since?: Date
  /** Only events of these types. */
  readonly resourceTypes?: ReadonlyArray<string>
  /** Whether to wait for new items instead of ending at the current end. Default: false. */
  readonly follow?: boolean
  /** Ends the reading. */
  readonly signal?: AbortSignal
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: (url: string, init: { headers: Record<string, string>; signal?: AbortSignal }) => Promise<Response>
}

/** An item of a feed. */
export interface FeedItem {
  /** The `webhook-id` of the event. Drop duplicates by it, as for webhooks. */
  readonly id: string
  /** When the event was published, in milliseconds since the epoch. */
  readonly createdAt: number
  readonly event: WebhookEvent
}

export interface FeedPage {
  readonly items: ReadonlyArray<FeedItem>
  /** Where the next page begins. Store it together with the items, and pass it as `after`. It never expires. */
  readonly cursor: string
  /** Set if doorhook no longer has all items behind the cursor: those published between these times may be missing. */
  readonly gap: { readonly from: Date; readonly to: Date } | null
}

/** doorhook refused to read the feed, or answered something else than a feed. */
export class FeedError extends Error {
  override readonly name = "FeedError"
  /** The status of the answer; null if there was none. */
  readonly status: number | null

  constructor(status: number | null, message: string, cause?: unknown) {
    super(message, { cause })
    this.status = status
  }
}

/** Longest pause before a request is repeated, in milliseconds. */
const longestPause = 30_000

/** How long doorhook waits for an item, in seconds. */
const wait = 30

/**
 * Yields the pages of a feed, oldest first, until its current end, or until `signal` is aborted with `follow`. Repeats
 * requests that doorhook can't answer now. Throws `FeedError` if doorhook refuses the request.
 *
 * ```ts
 * for await (const { cursor, gap, items } of readFeed({ url, token, after: await loadCursor() })) {
 *   if (gap !== null) alertOperators(gap)
 *   for (const { event, id } of items) await storeOnce(id, event)
 *   await saveCursor(cursor)
 * }
 * ```
 */
export async function* readFeed(options: FeedOptions): AsyncGenerator<FeedPage, void, undefined> {
  const first = URL.parse(options.url)
  if (first === null || !/^https?:$/.test(first.protocol))
    throw new InvalidOption("url", `must be the http or https address of a feed, not ${JSON.stringify(options.url)}`)
  const { after, follow = false, resourceTypes = [], since } = options
  if (after !== undefined && after !== null) first.searchParams.set("after", after)
  else if (since !== undefined) first.searchParams.set("since", since.toISOString())
  for (const type of resourceTypes) first.searchParams.append("resource_type", type)
  const reader = new Reader(options)
  for (let url: URL | null = first; url !== null;) {
    const page = await reader.read(url)
    if (page === null) return
    const { items, next } = page
    if (items.length > 0 || page.gap !== null || url === first) yield { items, cursor: page.cursor, gap: page.gap }
    const following: URL = new URL(first)
    following.searchParams.delete("since")
    following.searchParams.set("after", page.cursor)
    if (!next && follow) following.searchParams.set("wait", String(wait))
    url = next || follow ? following : null
  }
}

interface ReadPage extends FeedPage {
  /** Whether there are more items now. */
  readonly next: boolean
}

class Reader {
  readonly #options: FeedOptions
  #token: string | null = null

  constructor(options: FeedOptions) {
    this.#options = options
  }

  /** Reads a page; null if the reading is aborted. */
  async read(url: URL): Promise<ReadPage | null> {
    if (this.#isAborted()) return null
    let hasNewToken = false
    for (let attempt = 0; ; attempt++) {
      if (this.#token === null) {
        hasNewToken = true
        this.#token = await this.#newToken()
      }
      const answer = await this.#send(url, this.#token)
      if (this.#isAborted()) return null
      if (answer instanceof Response) {
        if (answer.ok) return parsePage(await answer.text())
        const text = await answer.text()
        if (answer.status === 401 && !hasNewToken && typeof this.#options.token === "function") {
          this.#token = null
          continue
        }
        if (answer.status !== 429 && answer.status < 500)
          throw new FeedError(answer.status, `doorhook answered ${answer.status}: ${detailIn(text)}`)
      }
      await this.#pause(attempt, answer instanceof Response ? Number(answer.headers.get("retry-after")) : 0)
      if (this.#isAborted()) return null
    }
  }

  #isAborted(): boolean {
    return this.#options.signal?.aborted === true
  }

  async #newToken(): Promise<string> {
    const { token } = this.#options
    return typeof token === "function" ? token() : token
  }

  /** Returns the answer, or the error of a request without one. */
  async #send(url: URL, token: string): Promise<unknown> {
    const { fetch: send = fetch, signal } = this.#options
    const headers = { authorization: `Bearer ${token}`, accept: "application/json" }
    try {
      return await send(url.href, { headers, ...(signal !== undefined && { signal }) })
    } catch (error) {
      return error
    }
  }

  /** Waits before the next attempt: as long as doorhook asks, or a second, two, four, ... */
  #pause(attempt: number, seconds: number): Promise<void> {
    const asked = Number.isFinite(seconds) ? seconds * 1_000 : 0
    const millis = Math.min(longestPause, Math.max(asked, 1_000 * 2 ** Math.min(attempt, 5)))
    return new Promise((resolve) => {
      const { signal } = this.#options
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener("abort", end)
        resolve()
      }
      const timer = setTimeout(end, millis)
      signal?.addEventListener("abort", end)
    })
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The explanation in an answer that refuses a request. */
const detailIn = (text: string): string => {
  const body = parsed(text)
  const [error] = isObject(body) && Array.isArray(body["errors"]) ? body["errors"] : []
  return isObject(error) && typeof error["detail"] === "string" ? error["detail"] : text.slice(0, 200)
}

const notAFeed = (): FeedError => new FeedError(200, "The answer is not a page of a feed: check the address (`url`).")

const parsePage = (text: string): ReadPage => {
  const body = parsed(text)
  if (!isObject(body) || !Array.isArray(body["data"]) || !isObject(body["meta"])) throw notAFeed()
  const { cursor, gap } = body["meta"]
  if (typeof cursor !== "string") throw notAFeed()
  return {
    items: body["data"].map(parseItem),
    cursor,
    gap: isObject(gap) ? { from: new Date(String(gap["from"])), to: new Date(String(gap["to"])) } : null,
    next: isObject(body["links"]) && typeof body["links"]["next"] === "string"
  }
}

const parseItem = (item: unknown): FeedItem => {
  if (!isObject(item) || !isObject(item["attributes"])) throw notAFeed()
  const { created_at, event, event_id } = item["attributes"]
  const id = event_id ?? item["id"]
  if (typeof id !== "string" || !isObject(event) || !isObject(event["data"])) throw notAFeed()
  const { action, data, resource_type } = event
  return {
    id,
    createdAt: Date.parse(String(created_at)),
    event: { resource_type: String(resource_type), action: String(action), data }
  }
}
