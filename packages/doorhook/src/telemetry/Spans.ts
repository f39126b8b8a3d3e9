/**
 * Records spans for publications and delivery attempts. An attempt links to its publication if both happened in this
 * process.
 *
 * Spans contain only the ids of events, not their content, owner or destination, because more people can read telemetry
 * than may read events.
 */
import { Publisher, Transport } from "@doorhook/core"
import type { TransportRequest, TransportResult } from "@doorhook/core"
import { Context, Effect, Layer } from "effect"
import type { Tracer } from "effect"

/**
 * Whether to record spans, which costs a little even without a tracer. With null, the default, only applications
 * written in Effect record them.
 */
export const Tracing = Context.Reference<boolean | null>("doorhook/telemetry/Spans", { defaultValue: () => null })

/** Maximum number of event ids to remember, so that attempts can link to publications. */
const mostRemembered = 10_000

/** Maximum number of event ids in a span. */
const mostNamed = 20

interface Publications {
  readonly remember: (ids: ReadonlyArray<string>, span: Tracer.AnySpan) => void
  readonly linksTo: (id: string) => ReadonlyArray<Tracer.SpanLink>
}

const makePublications = (): Publications => {
  const spans = new Map<string, Tracer.AnySpan>()
  return {
    remember: (ids, span) => {
      for (const id of ids) spans.set(id, span)
      for (const id of spans.keys()) {
        if (spans.size <= mostRemembered) break
        spans.delete(id)
      }
    },
    linksTo: (id) => {
      const span = spans.get(id)
      return span === undefined ? [] : [{ span, attributes: {} }]
    }
  }
}

/** The publications of this process to which attempts can link. */
class Remembered extends Context.Service<Remembered, Publications>()("doorhook/telemetry/Spans/Remembered") {
  static readonly layer: Layer.Layer<Remembered> = Layer.sync(Remembered, makePublications)
}

const outcomeOf = (result: TransportResult): Record<string, unknown> =>
  result._tag === "Answered"
    ? { "http.response.status_code": result.status }
    : { "error.type": result.outcome, "doorhook.outcome": result.outcome }

const tracedPost =
  (transport: Transport["Service"], { linksTo }: Publications) =>
  (request: TransportRequest): ReturnType<Transport["Service"]["post"]> => {
    // Only attempts to deliver have spans.
    if (request.method === "GET") return transport.post(request)
    const id = request.headers["webhook-id"] ?? ""
    return transport.post(request).pipe(
      Effect.tap((result) => Effect.annotateCurrentSpan(outcomeOf(result))),
      Effect.withSpan(
        "doorhook.attempt",
        {
          root: true,
          kind: "client",
          links: linksTo(id),
          attributes: {
            "http.request.method": "POST",
            "messaging.message.id": id,
            "doorhook.attempt": Number(request.headers["doorhook-attempt"] ?? 0)
          }
        },
        { captureStackTrace: false }
      )
    )
  }

const tracedPublish =
  (publisher: Publisher["Service"], { remember }: Publications): Publisher["Service"]["publish"] =>
  (events, request) =>
    Effect.gen(function* () {
      const published = yield* publisher.publish(events, request)
      const ids = published.map(({ id }) => id)
      const span = yield* Effect.orDie(Effect.currentSpan)
      remember(ids, span)
      yield* Effect.annotateCurrentSpan({
        "messaging.message.id": ids.slice(0, mostNamed).join(" "),
        "doorhook.deliveries": published.reduce((sum, { deliveries }) => sum + deliveries, 0)
      })
      return published
    }).pipe(
      Effect.withSpan(
        "doorhook.publish",
        { kind: "producer", attributes: { "messaging.batch.message_count": events.length } },
        { captureStackTrace: false }
      )
    )

const whenTracing = <ROut, E, R>(layer: Layer.Layer<ROut, E, R>, traced: Layer.Layer<ROut, E, R | Remembered>) =>
  Layer.unwrap(Effect.map(Tracing, (on) => (on === true ? traced.pipe(Layer.provide(Remembered.layer)) : layer)))

/** Adds a span to each request of the transport, if spans are recorded. */
export const tracedTransport = <E, R>(layer: Layer.Layer<Transport, E, R>): Layer.Layer<Transport, E, R> =>
  whenTracing(
    layer,
    Layer.effect(
      Transport,
      Effect.flatMap(Effect.all([Transport, Remembered]), ([transport, remembered]) =>
        Transport.fromPost(tracedPost(transport, remembered))
      )
    ).pipe(Layer.provide(layer))
  )

/** Adds a span to each call of the publisher, if spans are recorded. */
export const tracedPublisher = <E, R>(layer: Layer.Layer<Publisher, E, R>): Layer.Layer<Publisher, E, R> =>
  whenTracing(
    layer,
    Layer.effect(
      Publisher,
      Effect.map(Effect.all([Publisher, Remembered]), ([publisher, remembered]) => ({
        publish: tracedPublish(publisher, remembered)
      }))
    ).pipe(Layer.provide(layer))
  )
