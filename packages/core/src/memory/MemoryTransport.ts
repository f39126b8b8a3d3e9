/**
 * A transport that sends nothing: it keeps what is posted and answers what a test says, in the time of Effect's clock.
 * It looks up no names and refuses no addresses.
 */
import { Clock, Context, Effect, Layer, Queue } from "effect"
import { maxExcerptLength } from "../model/Delivery.ts"
import type { TransportRequest, TransportResult, TransportUnavailable } from "../ports/Transport.ts"
import { Transport } from "../ports/Transport.ts"

/** A request, with the time at which it was made. */
export interface Post extends TransportRequest {
  /** In milliseconds since the epoch. */
  readonly at: number
}

type Answered = TransportResult & { readonly _tag: "Answered" }
type Failed = TransportResult & { readonly _tag: "Failed" }

/** What a receiver replies: a status alone, an answer, or how the request failed. */
export type Reply =
  | number
  | (Pick<Answered, "status"> & Partial<Pick<Answered, "excerpt" | "retry_after" | "location">>)
  | (Pick<Failed, "outcome"> & Partial<Pick<Failed, "detail">>)

/**
 * What becomes of the `nth` post, from 1. A reply that takes longer than the post's deadline comes too late: it has failed
 * with `timeout` by then.
 */
export type Receive = (post: Post, nth: number) => Effect.Effect<Reply, TransportUnavailable>

/** The other side of the transport: all receivers. */
export class Receivers extends Context.Service<
  Receivers,
  {
    /** What was posted so far. */
    readonly posts: Effect.Effect<ReadonlyArray<Post>>
    /** The first post that was not taken by this before; waits for one. */
    readonly next: Effect.Effect<Post>
    /** Replies otherwise from the next post on. */
    readonly reply: (receive: Receive) => Effect.Effect<void>
  }
>()("@doorhook/core/memory/MemoryTransport/Receivers") {}

const resultOf = (reply: Reply, elapsed: number): TransportResult => {
  if (typeof reply === "number") return resultOf({ status: reply }, elapsed)
  if ("outcome" in reply) return { _tag: "Failed", detail: `the test says ${reply.outcome}`, ...reply, elapsed }
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

/** Replies 200 to everything, unless told otherwise. */
export const layer = (receive: Receive = () => Effect.succeed(200)): Layer.Layer<Transport | Receivers> =>
  Layer.effectContext(make(receive))
