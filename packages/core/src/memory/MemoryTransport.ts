/**
 * A transport for tests that sends nothing. It records posts and returns replies chosen by the test. Times follow
 * Effect's clock. It resolves no names and refuses no addresses.
 */
import { Clock, Context, Effect, Layer, Queue } from "effect"
import { maxExcerptLength } from "../model/Delivery.ts"
import type { TransportRequest, TransportResult, TransportUnavailable } from "../ports/Transport.ts"
import { Transport } from "../ports/Transport.ts"

/** A recorded request. */
export interface Post extends TransportRequest {
  /** Time of the post, in milliseconds since the epoch. */
  readonly at: number
}

type Answered = TransportResult & { readonly _tag: "Answered" }
type Failed = TransportResult & { readonly _tag: "Failed" }

/** A receiver's reply: a status, an answer, or a failure. */
export type Reply =
  | number
  | (Pick<Answered, "status"> & Partial<Pick<Answered, "excerpt" | "retry_after" | "location">>)
  | (Pick<Failed, "outcome"> & Partial<Pick<Failed, "detail">>)

/**
 * Chooses the reply to the `nth` post, counted from 1. A reply that takes longer than the post's deadline is reported
 * as `timeout`.
 */
export type Receive = (post: Post, nth: number) => Effect.Effect<Reply, TransportUnavailable>

/** All receivers of the transport. */
export class Receivers extends Context.Service<
  Receivers,
  {
    /** Returns all posts so far. */
    readonly posts: Effect.Effect<ReadonlyArray<Post>>
    /** Returns the first post that no earlier call returned. Waits for one if necessary. */
    readonly next: Effect.Effect<Post>
    /** Changes the replies to later posts. */
    readonly reply: (receive: Receive) => Effect.Effect<void>
  }
>()("@doorhook/core/memory/MemoryTransport/Receivers") {}

const resultOf = (reply: Reply, elapsed: number): TransportResult => {
  if (typeof reply === "number") return resultOf({ status: reply }, elapsed)
  if ("outcome" in reply) return { _tag: "Failed", detail: `the test chose ${reply.outcome}`, ...reply, elapsed }
  const excerpt = (reply.excerpt ?? "").slice(0, maxExcerptLength)
  return { _tag: "Answered", retry_after: null, ...reply, excerpt, headers_elapsed: elapsed, elapsed }
}

const make = Effect.fnUntraced(function* (initial: Receive) {
  const posts: Array<Post> = []
  const untaken = yield* Queue.unbounded<Post>()
  let receive = initial
  const post = Effect.fnUntraced(function* (request: TransportRequest) {
    const one = { ...request, at: yield* Clock.currentTimeMillis }
    const nth = posts.push(one)
    yield* Queue.offer(untaken, one)
    const reply = yield* receive(one, nth).pipe(
      Effect.timeoutOrElse({
        duration: request.deadline,
        orElse: () =>
          Effect.succeed({ outcome: "timeout", detail: `no answer within ${request.deadline} ms` } satisfies Reply)
      })
    )
    return resultOf(reply, (yield* Clock.currentTimeMillis) - one.at)
  })
  const receivers = Receivers.of({
    posts: Effect.sync(() => [...posts]),
    next: Queue.take(untaken),
    reply: (next) => Effect.sync(() => (receive = next))
  })
  return Context.make(Transport, yield* Transport.fromPost(post)).pipe(Context.add(Receivers, receivers))
})

/** A transport that replies 200 to everything by default. */
export const layer = (receive: Receive = () => Effect.succeed(200)): Layer.Layer<Transport | Receivers> =>
  Layer.effectContext(make(receive))
