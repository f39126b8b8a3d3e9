/**
 * `doorhook/testing`: a doorhook for the host's own tests. Its database is in memory, its transport records requests
 * instead of sending them, and its clock can be moved.
 */
// Imported first, to report a Node.js version that is too old for the other imports.
export { supportedNode } from "./supportedNode.ts"
import { DurationText, MemoryTransport, NameResolver, Signature } from "@doorhook/core"
import { Clock, Duration, Effect, Layer, Option } from "effect"
import { DoorhookError } from "./DoorhookError.ts"
import { badArgument } from "./embed/Arguments.ts"
import type { Doorhook } from "./embed/createDoorhook.ts"
import { startDoorhook } from "./embed/createDoorhook.ts"
import type { DoorhookOptions } from "./embed/DoorhookOptions.ts"
import type { HostDirectory } from "./directory/FunctionDirectory.ts"
import { isPostgres } from "./service/Database.ts"

/** A request that a receiver would have got. */
export interface SentRequest {
  /** The integration's URL. */
  readonly url: string
  /** All headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as sent, for example to verify its signature. */
  readonly body: string
  /**
   * The event in the body: `resource_type`, `action` and `data`, also to a subscription of an MCP client. The
   * names are empty in messages to subscriptions that carry no event.
   */
  readonly event: { readonly resource_type: string; readonly action: string; readonly data: unknown }
  /** The event's id, the same for every attempt. */
  readonly webhookId: string
  /** Number of the attempt, counted from 1. */
  readonly attempt: number
  /** When it was sent, by the clock of this doorhook. */
  readonly at: Date
}

/**
 * A receiver's reply: a status, an answer with the parts that doorhook reads, or a failure like
 * `{ outcome: "timeout" }`.
 */
export type TestReply = MemoryTransport.Reply

/** Chooses the reply to the `nth` request, counted from 1. */
export type TestReceiver = (request: SentRequest, nth: number) => TestReply | Promise<TestReply>

/** Options of `createTestDoorhook`: those of `createDoorhook`, all with defaults. */
export interface TestDoorhookOptions extends Omit<DoorhookOptions, "directory"> {
  /** Default: every user has every right, and there are no clients. */
  readonly directory?: HostDirectory | undefined
}

/** A doorhook that sends nothing. */
export interface TestDoorhook extends Doorhook {
  /** All requests so far, oldest first. */
  readonly requests: ReadonlyArray<SentRequest>
  /** Sets the reply to later requests. Default: 200. */
  readonly reply: (reply: TestReply | TestReceiver) => void
  /** The time of this doorhook. It goes on like real time, ahead of it by what `advance` has added. */
  readonly now: () => Date
  /**
   * Moves the clock forward by a duration like `5s` or `2h`. Everything that falls due is done at its time: retries,
   * expiries, tokens. Resolves once it is done. Not on PostgreSQL, whose server has its own clock.
   */
  readonly advance: (duration: string) => Promise<void>
}

const everyRight: HostDirectory = {
  client: () => null,
  authenticate: (login) => ({ id: login }),
  administers: () => true,
  isTenant: () => true
}

/** Long times, because each end is a step of `advance`. In one process, deliveries don't wait for a poll. */
const rarely = { pollInterval: "1h", lease: "1h" } as const

/** Turns of the event loop after which work that was begun counts as done if nothing has changed. */
const quietTurns = 5

/** Maximum number of such waits in one step, for work that waits for something other than time. */
const mostWaits = 100

const longestTimer = 2 ** 31 - 1

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

/** A clock that goes on like real time and can be moved forward. Times are in milliseconds. */
class MovableClock implements Clock.Clock {
  #ahead = 0
  readonly #sleepers = new Set<Sleeper>()

  readonly currentTimeMillisUnsafe = (): number => Date.now() + this.#ahead
  readonly currentTimeNanosUnsafe = (): bigint => BigInt(this.currentTimeMillisUnsafe()) * 1_000_000n
  readonly monotonicTimeNanosUnsafe = (): bigint => process.hrtime.bigint() + BigInt(this.#ahead) * 1_000_000n
  readonly currentTimeMillis = Effect.sync(this.currentTimeMillisUnsafe)
  readonly currentTimeNanos = Effect.sync(this.currentTimeNanosUnsafe)
  readonly monotonicTimeNanos = Effect.sync(this.monotonicTimeNanosUnsafe)

  readonly sleep = (duration: Duration.Duration): Effect.Effect<void> =>
    Effect.callback((resume) => {
      let timer: NodeJS.Timeout | undefined
      const stop = (): void => {
        clearTimeout(timer)
        this.#sleepers.delete(sleeper)
      }
      const sleeper: Sleeper = {
        at: this.currentTimeMillisUnsafe() + Duration.toMillis(duration),
        wake: () => {
          stop()
          resume(Effect.void)
        }
      }
      const arm = (): void => {
        const left = sleeper.at - this.currentTimeMillisUnsafe()
        if (left <= 0) sleeper.wake()
        else timer = setTimeout(arm, Math.min(left, longestTimer))
      }
      this.#sleepers.add(sleeper)
      timer = setTimeout(arm, Math.min(Duration.toMillis(duration), longestTimer))
      return Effect.sync(stop)
    })

  /** Moves the clock by `millis`. Stops at each time for which something sleeps, until `settle` resolves. */
  async advance(millis: number, settle: () => Promise<void>): Promise<void> {
    const target = this.currentTimeMillisUnsafe() + millis
    await settle()
    for (;;) {
      const next = Math.min(target, ...[...this.#sleepers].map(({ at }) => at))
      this.#ahead += Math.max(0, Math.ceil(next) - this.currentTimeMillisUnsafe())
      const now = this.currentTimeMillisUnsafe()
      for (const sleeper of [...this.#sleepers].toSorted((a, b) => a.at - b.at)) if (sleeper.at <= now) sleeper.wake()
      await settle()
      if (next >= target) return
    }
  }
}

/** Returns the event of a body. That of a subscription has a name like `call.create` and its data. */
const eventIn = ({ data, event, name }: { event?: SentRequest["event"]; name?: string; data?: unknown }) => {
  const [resource_type = "", action = ""] = name?.split(".") ?? []
  return event ?? { resource_type, action, data }
}

const requestOf = ({ at, body, headers, url }: MemoryTransport.Post): SentRequest => ({
  url,
  headers,
  body,
  event: eventIn(JSON.parse(body)),
  webhookId: headers[Signature.headerNames.id] ?? "",
  attempt: Number(headers[Signature.headerNames.attempt]),
  at: new Date(at)
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/**
 * Starts a doorhook for tests. Integrations can have any URL that doorhook accepts, because names are not looked up and
 * nothing is sent. With `database: "postgres://..."` it uses a real PostgreSQL, which `publishIn` needs.
 */
export const createTestDoorhook = async (options: TestDoorhookOptions = {}): Promise<TestDoorhook> => {
  const requests: Array<SentRequest> = []
  let answering = 0
  let receive: TestReceiver = () => 200
  const clock = new MovableClock()
  const answer = async (request: SentRequest, nth: number): Promise<TestReply> => {
    answering++
    try {
      return await receive(request, nth)
    } finally {
      answering--
    }
  }
  const transport = MemoryTransport.layer((post, nth) => {
    const request = requestOf(post)
    requests.push(request)
    return Effect.promise(() => answer(request, nth))
  })
  const { database = "memory", directory = everyRight } = options
  const doorhook = await startDoorhook(
    { ...rarely, ...options, database, directory },
    Layer.merge(transport, NameResolver.layerNone).pipe(Layer.provideMerge(Layer.succeed(Clock.Clock, clock)))
  )

  /**
   * Resolves once the work that has fallen due is done, or waits for a later time. Work in progress shows in the
   * numbers of deliveries and requests, which are compared with those of the last time.
   */
  let before = ""
  const settle = async (): Promise<void> => {
    for (let waits = 0; waits < mostWaits; waits++) {
      for (let turns = 0; turns < quietTurns; turns++) await turn()
      const { deliveries, oldest_due_at } = await doorhook.deliveries.summary()
      const after = JSON.stringify([deliveries, requests.length])
      if (after === before && answering === 0 && oldest_due_at === null) return
      before = after
    }
  }

  return {
    ...doorhook,
    requests,
    reply: (reply) => {
      receive = typeof reply === "function" ? reply : () => reply
    },
    now: () => new Date(clock.currentTimeMillisUnsafe()),
    advance: async (duration) => {
      if (isPostgres(database)) {
        const detail = "advance: not on PostgreSQL, whose server has its own clock; leave out `database` in this test"
        throw new DoorhookError("bad_request", detail)
      }
      const millis = Option.getOrUndefined(DurationText.parse(duration))
      if (millis === undefined) throw badArgument("duration", 'a duration like "5s" or "2h"', duration)
      await clock.advance(millis, settle)
    }
  }
}
