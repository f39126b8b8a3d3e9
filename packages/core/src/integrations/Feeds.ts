/**
 * Feeds: the deliveries that an integration should have received, and the events that a building or tenant may see, in
 * storage order. A reader continues by cursor. It can prove that nothing is missing: a feed never skips an item that is
 * committed later, and reports a gap if retention has deleted items behind the cursor.
 */
import { Clock, Context, Effect, Latch, Layer, Option, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { Absence } from "../model/BuildingMoves.ts"
import type { Delivery } from "../model/Delivery.ts"
import { makeViews } from "../delivery/EventViews.ts"
import type { SeenEvent } from "../delivery/EventViews.ts"
import type { IntegrationId } from "../model/Ids.ts"
import type { Scope } from "../model/Integration.ts"
import type { ResourceType } from "../model/ResourceType.ts"
import type { FeedPart, FeedPlace, FeedSource } from "../ports/DeliveryStore.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import type { DirectoryError } from "../ports/Directory.ts"
import { Directory } from "../ports/Directory.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { IntegrationNotFound } from "../delivery/Deliveries.ts"
import { FeedHub } from "./FeedHub.ts"
import type { Actor, ScopeError } from "./Integrations.ts"
import { checkScope, Integrations } from "./Integrations.ts"
import { partBytes } from "./ScopeReader.ts"

/** A feed: of an integration of a building or tenant, or, without an integration, of the building or tenant itself. */
export interface Feed {
  readonly scope: Scope
  readonly integration: IntegrationId | null
}

/** A position in a feed. Cursors never expire. */
export interface FeedCursor {
  /** The position of the last item before the cursor; 0 for the beginning. */
  readonly position: number
  /** The time up to which the reader has the feed, in milliseconds since the epoch. */
  readonly at: number
  /** The position of the last purged item that was reported as a gap; 0 for none. */
  readonly reported: number
}

/** Returns the beginning of a feed's cursors. */
const prefixOf = ({ integration, scope }: Feed): string =>
  integration === null ? `${scope.type} ${scope.id}` : `integration ${integration}`

/** Formats a cursor. Cursors are opaque to clients. */
export const formatCursor = (feed: Feed, { at, position, reported }: FeedCursor): string =>
  Base64Url.encode([prefixOf(feed), position, at, reported].join("."))

/** Parses a cursor. None if it does not belong to the feed. */
export const parseCursor = (feed: Feed, text: string): Option.Option<FeedCursor> =>
  Result.getSuccess(Base64Url.decodeString(text)).pipe(
    Option.map((plain): FeedCursor => {
      const [, position = NaN, at = NaN, reported = NaN] = plain.split(".").map(Number)
      return { position, at, reported }
    }),
    Option.filter(
      (cursor) =>
        [cursor.position, cursor.at, cursor.reported].every((n) => Number.isSafeInteger(n) && n >= 0) &&
        formatCursor(feed, cursor) === text
    )
  )

/** Where to begin: after a cursor, with the first item published at a time or later, or with the first or next item. */
export type FeedStart = { readonly after: FeedCursor } | { readonly since: number } | "first" | "next"

/** Times between which retention has deleted items that the reader has not got, in milliseconds since the epoch. */
export interface FeedGap {
  readonly from: number
  readonly to: number
}

export interface FeedEntry {
  readonly position: number
  readonly event: SeenEvent
  /** Null in the feed of a building or tenant. */
  readonly delivery: Delivery | null
}

/** A page of a feed. It may end early because of its size: it then has fewer items than the limit, and `more` is true. */
export interface FeedPage {
  readonly items: ReadonlyArray<FeedEntry>
  /** Start of the next page; the given cursor if there is nothing new. */
  readonly cursor: FeedCursor
  /** Whether there may be more items now. */
  readonly more: boolean
}

/** The first page of a feed that was asked for. */
export interface FirstPage extends FeedPage {
  /** The gap before the page; null if there is none. The page's cursor does not report it again. */
  readonly gap: FeedGap | null
}

/** The cursor is beyond the end of the feed, for example because the database was restored from a backup. */
export class CursorBeyondEnd extends Schema.TaggedError<CursorBeyondEnd>()("CursorBeyondEnd", {}) {
  override get message(): string {
    return "The cursor is beyond the end of the feed. The database may have been restored from a backup: read again with `since`."
  }
}

/** How far the times of successive items may go back, because clocks were corrected, in milliseconds. */
const disorder = 3_600_000

/** Maximum number of parts that a search for events of some types examines for one page. */
const maxParts = 20

type ReadError = ScopeError | IntegrationNotFound | StoreError | DirectoryError

const sourceOf = ({ integration, scope }: Feed): FeedSource =>
  integration === null ? scope : { type: "integration", id: integration }

interface Limits {
  readonly limit: number
  readonly types?: ReadonlyArray<ResourceType>
}

export class Feeds extends Context.Service<
  Feeds,
  {
    /** Checks that the user may read a feed, and that this process serves it. */
    readonly authorize: (actor: Actor, feed: Feed) => Effect.Effect<void, ReadError>
    /** Finds the cursor of a start, and the gap behind it. */
    readonly locate: (
      feed: Feed,
      start: FeedStart,
      types?: ReadonlyArray<ResourceType>
    ) => Effect.Effect<{ readonly cursor: FeedCursor; readonly gap: FeedGap | null }, StoreError | CursorBeyondEnd>
    /**
     * Reads at most `limit` items after a cursor, oldest first, with as much of the events as the client may get. Checks no
     * right.
     */
    readonly readAfter: (
      actor: Actor,
      feed: Feed,
      cursor: FeedCursor,
      limits: Limits
    ) => Effect.Effect<FeedPage, StoreError>
    /** Checks the user's right, and reads the next page of a feed. */
    readonly next: (actor: Actor, feed: Feed, cursor: FeedCursor, limits: Limits) => Effect.Effect<FeedPage, ReadError>
    /**
     * Reads the first page from a start. If there is nothing, waits up to `wait` milliseconds for the first item, but
     * not longer than the service runs.
     */
    readonly read: (
      actor: Actor,
      feed: Feed,
      start: FeedStart,
      limits: Limits & { readonly wait?: number }
    ) => Effect.Effect<FirstPage, ReadError | CursorBeyondEnd>
  }
>()("@doorhook/core/integrations/Feeds") {
  static readonly layer: Layer.Layer<
    Feeds,
    never,
    Integrations | IntegrationStore | Directory | DeliveryStore | FeedHub
  > = Layer.effect(
    Feeds,
    Effect.gen(function* () {
      const integrations = yield* Integrations
      const stored = yield* IntegrationStore
      const views = yield* makeViews
      const directory = yield* Directory
      const absence = yield* Absence
      const store = yield* DeliveryStore
      const hub = yield* FeedHub
      const now = yield* storeTime

      const authorize: Feeds["Service"]["authorize"] = (actor, { integration, scope }) =>
        integration !== null
          ? Effect.asVoid(integrations.get(actor, scope, integration))
          : checkScope(directory, absence, actor, scope)

      const locate = makeLocate(store, now)

      const readPart = ({ integration, scope }: Feed, cursor: FeedCursor, limits: Limits) => {
        const request = { ...limits, after: cursor.position, maxBytes: partBytes }
        if (integration === null)
          return Effect.map(store.eventFeed({ ...request, scope }), (part) =>
            pageOf(cursor, part, ({ event, seq }) => ({ position: seq, event, delivery: null }))
          )
        return Effect.map(store.feed({ ...request, integration_id: integration }), (part) =>
          pageOf(cursor, part, ({ delivery, event }) => ({ position: delivery.id, event, delivery }))
        )
      }

      /** Reduces the events of a page to what the client may get. */
      const seenBy = Effect.fnUntraced(function* ({ client_id }: Actor, { integration, scope }: Feed, page: FeedPage) {
        if (page.items.length === 0) return page
        const owner = integration === null ? null : yield* stored.find(integration)
        const seen = ({ event }: FeedEntry) =>
          owner === null ? views.ofClient(client_id, scope, event) : views.ofIntegration(owner, event, client_id)
        return { ...page, items: page.items.map((entry) => ({ ...entry, event: seen(entry) })) }
      })

      const readAfter: Feeds["Service"]["readAfter"] = Effect.fnUntraced(function* (actor, feed, cursor, limits) {
        let page = yield* readPart(feed, cursor, limits)
        for (let count = 1; page.items.length === 0 && page.more && count < maxParts; count++)
          page = yield* readPart(feed, page.cursor, limits)
        return yield* seenBy(actor, feed, page)
      })

      const next: Feeds["Service"]["next"] = (actor, feed, cursor, limits) =>
        Effect.andThen(authorize(actor, feed), readAfter(actor, feed, cursor, limits))

      const waitFor = Effect.fnUntraced(function* (
        actor: Actor,
        feed: Feed,
        page: FeedPage,
        limits: Limits,
        wait: number
      ) {
        const news = Latch.makeUnsafe(false)
        const clock = yield* Clock.Clock
        const end = clock.currentTimeMillisUnsafe() + wait
        const follow = Effect.fnUntraced(function* () {
          yield* hub.ready
          let found = yield* readAfter(actor, feed, page.cursor, limits)
          while (found.items.length === 0 && !hub.isClosed()) {
            const left = end - clock.currentTimeMillisUnsafe()
            if (left <= 0) break
            yield* Effect.timeoutOption(news.await, left)
            news.closeUnsafe()
            found = yield* readAfter(actor, feed, found.cursor, limits)
          }
          return found
        })
        return yield* Effect.acquireUseRelease(
          Effect.sync(() => hub.listen(feed.scope, () => news.openUnsafe())),
          follow,
          (stop) => Effect.sync(stop)
        )
      })

      const read: Feeds["Service"]["read"] = Effect.fnUntraced(function* (actor, feed, start, { wait = 0, ...limits }) {
        yield* authorize(actor, feed)
        const { cursor, gap } = yield* locate(feed, start, limits.types)
        const page = yield* readAfter(actor, feed, cursor, limits)
        const isEmpty = page.items.length === 0 && gap === null && !page.more
        if (!isEmpty || wait === 0) return { ...page, gap }
        const found = yield* waitFor(actor, feed, page, limits, wait)
        // The right may have ended during the wait.
        yield* authorize(actor, feed)
        return { ...found, gap }
      })

      return Feeds.of({ authorize, locate, readAfter, next, read })
    })
  )
}

const pageOf = <Item>(
  cursor: FeedCursor,
  { items, more, upTo }: FeedPart<Item>,
  toEntry: (item: Item) => FeedEntry
): FeedPage => {
  const entries = items.map(toEntry)
  const at = entries.at(-1)?.event.created_at ?? cursor.at
  return {
    items: entries,
    cursor: upTo === cursor.position ? cursor : { ...cursor, position: upTo, at },
    more
  }
}

/** Returns the gap behind a cursor, given the last purged item of the feed; null if there is none. */
export const gapAfter = ({ at, position, reported }: FeedCursor, purged: FeedPlace | null): FeedGap | null =>
  purged === null || purged.position <= Math.max(position, reported)
    ? null
    : { from: at, to: Math.max(at, purged.created_at) }

const makeLocate = (store: DeliveryStore["Service"], now: () => number) => {
  const endOf = (feed: Feed) =>
    Effect.map(store.feedEnds, ({ deliveries, events }) => (feed.integration === null ? events : deliveries))

  /**
   * Returns the position before the first item that was published at a time or later; null if there is none. Times
   * nearly rise with the positions, so it searches by halves for a time that is certainly early enough, and from there
   * on item by item.
   */
  const positionSince = Effect.fnUntraced(function* (feed: Feed, since: number) {
    const place = (after: number, from: number) => store.feedPlace({ source: sourceOf(feed), after, since: from })
    let low = 0
    for (let high = (yield* endOf(feed)).assigned; high - low > 1;) {
      const middle = Math.floor((low + high) / 2)
      const found = yield* place(middle, Number.MIN_SAFE_INTEGER)
      if (found !== null && found.created_at < since - disorder) low = found.position
      else high = middle
    }
    const first = yield* place(low, since)
    return first === null ? null : first.position - 1
  })

  return Effect.fnUntraced(function* (feed: Feed, start: FeedStart, types?: ReadonlyArray<ResourceType>) {
    if (start === "first") return { cursor: { position: 0, at: now(), reported: 0 }, gap: null }
    const end = yield* endOf(feed)
    if (start === "next") return { cursor: { position: end.complete, at: now(), reported: 0 }, gap: null }
    const purged = yield* store.lastPurged({ source: sourceOf(feed), ...(types !== undefined && { types }) })
    if ("after" in start) {
      const cursor = start.after
      if (cursor.position > end.assigned) return yield* new CursorBeyondEnd()
      const gap = gapAfter(cursor, purged)
      return { cursor: gap === null ? cursor : { ...cursor, reported: purged?.position ?? 0 }, gap }
    }
    const { since } = start
    const position = (yield* positionSince(feed, since)) ?? end.complete
    const isPurged = purged !== null && purged.created_at >= since
    return {
      cursor: { position, at: since, reported: isPurged ? purged.position : 0 },
      gap: isPurged ? { from: since, to: purged.created_at } : null
    }
  })
}
