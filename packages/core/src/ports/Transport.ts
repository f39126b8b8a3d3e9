/**
 * Sends a POST to a receiver, or fetches a document with a GET. A transport reports the result; `delivery/Acknowledgement` decides whether it is an
 * acknowledgement.
 */
import { Cause, Context, Effect, Exit, Result, Schema } from "effect"
import type { AttemptOutcome } from "../model/Delivery.ts"
import type { AllowList } from "../model/AddressPolicy.ts"

export interface TransportRequest {
  readonly url: string
  /** Default POST. A GET has no body, and its result has the headers of the answer. */
  readonly method?: "GET"
  /**
   * All headers except those that HTTP itself requires. A transport must not add a trace context, which would leak to
   * third parties.
   */
  readonly headers: Readonly<Record<string, string>>
  /** Encoded as UTF-8. */
  readonly body: string
  /** Time limit for the whole request in milliseconds, from name resolution to the end of the answer. */
  readonly deadline: number
  /** Special-purpose networks to which the transport may connect. */
  readonly allow: AllowList
  /**
   * The client that created the integration. Clients share scarce resources of the sender, such as name lookups,
   * fairly.
   */
  readonly client: string
}

/**
 * The result of a request. `elapsed` is in milliseconds from the start of the request. Redirects are answers and are
 * not followed. Interim answers (status 1xx) are skipped. The request is made once, with one exception: if a kept-alive
 * connection ends before the first byte of the answer, as when a receiver closes idle connections, the request is
 * repeated once on a new connection within the same deadline.
 */
export type TransportResult =
  | {
      readonly _tag: "Answered"
      readonly status: number
      /** The `retry-after` header as sent; null without one. */
      readonly retry_after: string | null
      /** The `location` header as sent, if the answer is a redirect with one. */
      readonly location?: string | null
      /** All headers of the answer to a GET, by names in lower case. */
      readonly headers?: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
      /** The beginning of the body, limited by `maxExcerptLength`, the deadline and the end of the connection. */
      readonly excerpt: string
      /** Time until the answer's headers were complete. */
      readonly headers_elapsed: number
      readonly elapsed: number
    }
  | {
      readonly _tag: "Failed"
      /** `blocked_address` is also used if the URL is neither http nor https. */
      readonly outcome: Exclude<AttemptOutcome, "acknowledged" | "bad_status">
      /** One line for operators. It omits the URL's path and query, which may contain a secret, and the sent data. */
      readonly detail: string
      readonly elapsed: number
    }

/**
 * The sender can't make outbound connections, because its proxy failed or it has no sockets left. Nothing was
 * attempted, and the receiver is not at fault.
 */
export class TransportUnavailable extends Schema.TaggedError<TransportUnavailable>()("TransportUnavailable", {
  /** What failed, in one line. */
  message: Schema.String
}) {}

/**
 * The sender lacked a resource for this request: the lookup of the receiver's name waited behind other lookups until
 * the deadline. The receiver is not at fault, and other receivers are not affected. If this was the repetition of a
 * request, the receiver may already have got the request.
 */
export class TransportBusy extends Schema.TaggedError<TransportBusy>()("TransportBusy", {
  /** The exhausted resource, in one line. */
  message: Schema.String
}) {}

/** A bug in the transport ended the request. Only `send` reports it; `post` dies with the cause. */
export interface TransportDefect {
  readonly _tag: "TransportDefect"
  readonly cause: Cause.Cause<never>
}

/** All possible results of a request. */
export type TransportReport = TransportResult | TransportUnavailable | TransportBusy | TransportDefect

/** Sends requests. An implementation provides `send` or `post`; `make` or `fromPost` derives the other. */
export class Transport extends Context.Service<
  Transport,
  {
    /**
     * Makes a request and calls `done` exactly once, possibly before `send` returns. Never throws, and `done` must not
     * throw. Reports a failure to reach the receiver or an expired deadline as a result. The transport enforces the
     * deadline.
     *
     * The returned function cancels the request: it closes the connection, and `done` is not called. If `done` was
     * already called, the function does nothing.
     */
    readonly send: (request: TransportRequest, done: (report: TransportReport) => void) => () => void
    /**
     * Like `send`, as an effect. It dies with the cause of a `TransportDefect`. Interrupting it closes the connection.
     */
    readonly post: (request: TransportRequest) => Effect.Effect<TransportResult, TransportUnavailable | TransportBusy>
  }
>()("@doorhook/core/ports/Transport") {
  /** Makes a transport from a `send` with callbacks. */
  static make({ send }: { readonly send: Send }): Transport["Service"] {
    const post: Post = (request) =>
      Effect.callback((resume) => {
        const cancel = send(request, (report) => resume(endingOf(report)))
        return Effect.sync(cancel)
      })
    return Transport.of({ send, post })
  }

  /**
   * Makes a transport from a `post` effect. `send` runs it with the clock, tracer and other references of the fiber
   * that calls `fromPost`, usually the one that builds the layer.
   */
  static fromPost(post: Post): Effect.Effect<Transport["Service"]> {
    return Effect.map(Effect.context<never>(), (context) => {
      const run = Effect.runForkWith(context)
      const send: Send = (request, done) => {
        const effect = effectOf(post, request)
        if (isExit(effect)) {
          done(reportOf(effect))
          return noop
        }
        const fiber = run(effect)
        const ignore = fiber.addObserver((exit) => done(reportOf(exit)))
        return () => {
          ignore()
          fiber.interruptUnsafe()
        }
      }
      return Transport.of({ send, post })
    })
  }
}

type Send = Transport["Service"]["send"]
type Post = Transport["Service"]["post"]

const noop = (): void => undefined

const isExit = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Exit<A, E> => Exit.isExit(effect)

const endingOf = (report: TransportReport): ReturnType<Post> => {
  switch (report._tag) {
    case "Answered":
    case "Failed":
      return Effect.succeed(report)
    case "TransportUnavailable":
    case "TransportBusy":
      return Effect.fail(report)
    case "TransportDefect":
      return Effect.failCause(report.cause)
  }
}

/** Calls `post`. If `post` throws instead of returning an effect, returns the thrown value as a defect. */
const effectOf = (post: Post, request: TransportRequest): ReturnType<Post> => {
  try {
    return post(request)
  } catch (defect) {
    return Effect.die(defect)
  }
}

const reportOf = (exit: Exit.Exit<TransportResult, TransportUnavailable | TransportBusy>): TransportReport => {
  if (Exit.isSuccess(exit)) return exit.value
  const error = Cause.findError(exit.cause)
  return Result.isSuccess(error) ? error.success : { _tag: "TransportDefect", cause: error.failure }
}
