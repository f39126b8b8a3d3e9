/**
 * Live streams of feeds, as server-sent events.
 *
 * A stream reads its feed by cursor, like a client that asks page by page, so a client that does not read costs no
 * memory. All streams at the same position of a feed share one read. An idle stream is a suspended fiber; one timer
 * serves them all.
 */
import { BuildingMoves, FeedHub, Feeds, storeTime } from "@doorhook/core"
import type { Feed, FeedCursor, FeedEntry, FeedGap, FeedPage, Principal, StoreError } from "@doorhook/core"
import { Effect, Exit, Fiber } from "effect"
import type { KnownError, RequestFailure } from "../http/Failures.ts"
import { failure } from "../http/Failures.ts"
import type { Pieces } from "../http/Route.ts"
import { ApiSettings } from "./ApiSettings.ts"
import type { ApiSettingsShape } from "./ApiSettings.ts"

export type EndReason = "token_expired" | "token_revoked" | "right_lost" | "moved" | "shutdown" | "too_slow"

/** How a stream is written, as texts of server-sent events. */
export interface StreamFormat {
  /** Streams with the same key write items alike. */
  readonly key: string
  begin(cursor: FeedCursor, gap: FeedGap | null): string
  /** Writes an item. The cursor is after the item. */
  line(cursor: FeedCursor, item: FeedEntry): string
  /** Keeps a quiet connection open. */
  heartbeat(cursor: FeedCursor): string
  end(reason: EndReason): string
}

/** A stream to open. */
export interface StreamRequest {
  readonly caller: Principal
  /** Identifies the caller again; null if the token is no longer valid. */
  readonly again: Effect.Effect<Principal | null, KnownError>
  readonly feed: Feed
  readonly cursor: FeedCursor
  readonly gap: FeedGap | null
  /** Whether the stream has an event; undefined for all. */
  readonly wants: ((event: FeedEntry["event"]) => boolean) | undefined
  readonly format: StreamFormat
}

/** Longest time between two looks at the deadlines of all streams, in milliseconds. */
const tick = 1_000

/** Maximum number of items that a stream reads at once. */
const itemsPerRead = 100

/** An item as a server-sent event. */
interface Line {
  readonly event: FeedEntry["event"]
  readonly text: string
}

interface Batch extends Pick<FeedPage, "cursor" | "more"> {
  readonly lines: ReadonlyArray<Line>
}

/** The data of a server-sent event must be one line. Line breaks in JSON are only between its parts. */
export const inOneLine = (text: string): string => text.replaceAll(/[\r\n]+/g, " ")

const toLine = (cursor: FeedCursor, item: FeedEntry, format: StreamFormat): Line => ({
  event: item.event,
  text: format.line({ ...cursor, position: item.position, at: item.event.created_at }, item)
})

/** What the streams of one feed share that belong to the same client, which decides how much of an event they get. */
class Channel {
  readonly streams = new Set<LiveStream>()
  /** Number of times that the feed may have got new items. */
  version = 0
  readonly #feeds: Feeds["Service"]
  readonly #feed: Feed
  readonly #caller: Principal
  readonly #fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  readonly #leave: () => void
  #read: { readonly place: string; readonly fiber: Fiber.Fiber<Batch, StoreError> } | null = null

  constructor({ feeds, fork, hub }: Parts, { caller, feed }: StreamRequest) {
    this.#feeds = feeds
    this.#caller = caller
    this.#feed = feed
    this.#fork = fork
    this.#leave = hub.listen(feed.scope, () => {
      this.version++
      for (const stream of this.streams) stream.wake()
    })
  }

  /** Reads the items after a cursor, together with the other streams that are there. */
  readAfter(cursor: FeedCursor, format: StreamFormat): Effect.Effect<Batch, StoreError> {
    return Effect.suspend(() => {
      const place = `${this.version} ${cursor.position} ${cursor.reported}`
      if (this.#read?.place !== place) {
        const page = this.#feeds.readAfter(this.#caller, this.#feed, cursor, { limit: itemsPerRead })
        const read = Effect.map(page, ({ items, ...rest }) => ({
          ...rest,
          lines: items.map((item) => toLine(cursor, item, format))
        }))
        this.#read = { place, fiber: this.#fork(read) }
      }
      return Fiber.join(this.#read.fiber)
    })
  }

  /** Forgets the last read, which streams at the end of the feed don't need. */
  forget(): void {
    this.#read = null
  }

  close(): void {
    this.#leave()
  }
}

interface Parts {
  readonly feeds: Feeds["Service"]
  readonly hub: FeedHub["Service"]
  readonly settings: ApiSettingsShape
  readonly now: () => number
  readonly absence: typeof BuildingMoves.Absence.Service
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
}

class LiveStream implements Pieces {
  readonly #parts: Parts
  readonly #request: StreamRequest
  readonly #channel: Channel
  readonly live: NonNullable<Pieces["live"]>
  #cursor: FeedCursor
  /** The version of the channel at the last read; -1 if there may be more. */
  #version = -1
  #isBegun = false
  #isOver = false
  #sentAt = performance.now()
  #checkedAt = performance.now()
  #resume: (() => void) | null = null

  constructor(parts: Parts, request: StreamRequest, channel: Channel, close: () => void) {
    this.#parts = parts
    this.#request = request
    this.#channel = channel
    this.#cursor = request.cursor
    this.live = { close, tooSlow: request.format.end("too_slow") }
  }

  readonly next: Effect.Effect<string | null, KnownError> = Effect.suspend(() => this.#step())

  /** Continues if the stream waits. */
  wake(): void {
    const resume = this.#resume
    this.#resume = null
    resume?.()
  }

  /** Continues if a line or a check is due. */
  tick(): void {
    if (
      this.#resume !== null &&
      (this.#isElsewhere() || this.#isHeartbeatDue() || this.#isCheckDue() || this.#version === -1)
    )
      this.wake()
  }

  #step(): Effect.Effect<string | null, KnownError> {
    if (this.#isOver) return Exit.succeed(null)
    if (this.#isElsewhere()) return this.#end("moved")
    if (this.#parts.hub.isClosed()) return this.#end("shutdown")
    if (!this.#isBegun) return this.#begin()
    if (this.#isCheckDue()) return this.#check()
    if (this.#version !== this.#channel.version) return this.#read()
    if (this.#isHeartbeatDue()) return this.#send(this.#request.format.heartbeat(this.#cursor))
    return Effect.flatMap(
      Effect.callback<void>((resume) => {
        this.#resume = () => resume(Effect.void)
        return Effect.sync(() => (this.#resume = null))
      }),
      () => this.#step()
    )
  }

  #begin(): Effect.Effect<string> {
    const { format, gap } = this.#request
    this.#isBegun = true
    return this.#send(format.begin(this.#cursor, gap))
  }

  #send(text: string): Effect.Effect<string> {
    this.#sentAt = performance.now()
    return Exit.succeed(text)
  }

  #end(reason: EndReason): Effect.Effect<string> {
    this.#isOver = true
    return Exit.succeed(this.#request.format.end(reason))
  }

  #isHeartbeatDue(): boolean {
    return performance.now() - this.#sentAt >= this.#parts.settings.streamHeartbeat
  }

  /** Whether another database serves the scope now. The client finds it when it connects again. */
  #isElsewhere(): boolean {
    return this.#parts.absence(this.#request.feed.scope) !== null
  }

  #isExpired(): boolean {
    return this.#parts.now() >= this.#request.caller.expires_at
  }

  #isCheckDue(): boolean {
    return this.#isExpired() || performance.now() - this.#checkedAt >= this.#parts.settings.streamCheck
  }

  /** Asks again for the token and the right. If that fails, for example because the database is down, asks later. */
  #check(): Effect.Effect<string | null, KnownError> {
    const { again, caller, feed } = this.#request
    this.#checkedAt = performance.now()
    if (this.#isExpired()) return this.#end("token_expired")
    const reason = Effect.gen({ self: this }, function* () {
      if ((yield* again) === null) return this.#isExpired() ? "token_expired" : "token_revoked"
      yield* this.#parts.feeds.authorize(caller, feed)
      return null
    }).pipe(
      Effect.catchTags({
        ScopeNotFound: () => Effect.succeed("right_lost" as const),
        IntegrationNotFound: () => Effect.succeed("right_lost" as const),
        BeingMoved: () => Effect.succeed("moved" as const),
        Misdirected: () => Effect.succeed("moved" as const)
      }),
      Effect.catchTags({
        StoreError: (error) => Effect.as(Effect.logDebug(`Can't check a stream: ${error.message}`), null),
        DirectoryError: (error) => Effect.as(Effect.logDebug(`Can't check a stream: ${error.message}`), null)
      })
    )
    return Effect.flatMap(reason, (found) => (found === null ? this.#step() : this.#end(found)))
  }

  /** Reads on. If the store fails, reads again at the next tick. */
  #read(): Effect.Effect<string | null, KnownError> {
    const { format, wants = () => true } = this.#request
    const { version } = this.#channel
    const read = Effect.andThen(this.#parts.hub.ready, this.#channel.readAfter(this.#cursor, format))
    return Effect.matchEffect(read, {
      onFailure: (error) =>
        Effect.logDebug(`Can't read a stream's feed: ${error.message}`).pipe(
          Effect.andThen(Effect.sleep(tick)),
          Effect.andThen(Effect.suspend(() => this.#step()))
        ),
      onSuccess: ({ cursor, lines, more }) => {
        this.#cursor = cursor
        this.#version = more ? -1 : version
        const wanted = lines.filter(({ event }) => wants(event))
        return wanted.length === 0 ? this.#step() : this.#send(wanted.map(({ text }) => text).join(""))
      }
    })
  }
}

const tooMany = (detail: string): RequestFailure =>
  failure(503, { code: "too_many_streams", title: "Too many streams", detail }, { "retry-after": "5" })

const stopping = failure(
  503,
  { code: "unavailable", title: "Temporarily unavailable", detail: "The service is stopping." },
  { "retry-after": "1" }
)

export class FeedStreams {
  readonly #parts: Parts
  readonly #channels = new Map<string, Channel>()
  readonly #byGrant = new Map<string, number>()
  #count = 0
  #timer: NodeJS.Timeout | undefined

  private constructor(parts: Parts) {
    this.#parts = parts
  }

  static readonly make = Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    return new FeedStreams({
      feeds: yield* Feeds,
      hub: yield* FeedHub,
      settings: yield* ApiSettings,
      now: yield* storeTime,
      absence: yield* BuildingMoves.Absence,
      fork: Effect.runForkWith(context)
    })
  })

  /** Opens a stream, unless there are too many. */
  open(request: StreamRequest): Exit.Exit<Pieces, RequestFailure> {
    const { hub, settings } = this.#parts
    const { grant_id } = request.caller
    const own = this.#byGrant.get(grant_id) ?? 0
    if (hub.isClosed()) return Exit.fail(stopping)
    if (own >= settings.streamsPerGrant)
      return Exit.fail(
        tooMany(`You have ${own} open streams, the most for one authorization. Close one of them first.`)
      )
    if (this.#count >= settings.streams)
      return Exit.fail(tooMany("The service has the most streams that it may have. Try again in a few seconds."))
    const key = `${request.format.key} ${request.caller.client_id}`
    const channel = this.#channels.get(key) ?? new Channel(this.#parts, request)
    this.#channels.set(key, channel)
    const stream = new LiveStream(this.#parts, request, channel, () => {
      if (!channel.streams.delete(stream)) return
      this.#add(grant_id, -1)
      if (channel.streams.size > 0) return
      channel.close()
      this.#channels.delete(key)
    })
    channel.streams.add(stream)
    this.#add(grant_id, 1)
    return Exit.succeed(stream)
  }

  #add(grant: string, more: 1 | -1): void {
    this.#count += more
    const own = (this.#byGrant.get(grant) ?? 0) + more
    if (own === 0) this.#byGrant.delete(grant)
    else this.#byGrant.set(grant, own)
    if (this.#count === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    } else {
      const { streamCheck, streamHeartbeat } = this.#parts.settings
      this.#timer ??= setInterval(() => this.#tick(), Math.min(tick, streamHeartbeat, streamCheck)).unref()
    }
  }

  #tick(): void {
    for (const channel of this.#channels.values()) {
      channel.forget()
      for (const stream of channel.streams) stream.tick()
    }
  }
}
