/**
 * Records when requests are sent and answered, by event number. Times are from `performance.now()`.
 */
import { Publisher, Transport } from "@doorhook/core"
import type { TransportRequest } from "@doorhook/core"
import { UndiciTransport } from "@doorhook/node"
import { Effect, Layer } from "effect"
import { eventIn } from "./Workload.ts"

export interface Watch {
  /** The watched transport. */
  readonly transport: Layer.Layer<Transport>
  /** Time at which the first request of each event was sent. */
  readonly left: ReadonlyMap<number, number>
  /** Time at which the latest request of each event was answered. */
  readonly answered: ReadonlyMap<number, number>
}

const numberOf = ({ body }: TransportRequest): number => Number(/"id":(\d+)/.exec(body)?.[1] ?? Number.NaN)

/** Watches the requests for which `test` returns true. */
export const watch = (
  test: (request: TransportRequest) => boolean,
  onAnswer: (n: number) => void = () => undefined,
  options: UndiciTransport.UndiciTransportOptions = {}
): Watch => {
  const left = new Map<number, number>()
  const answered = new Map<number, number>()
  const transport = Layer.effect(
    Transport,
    Effect.map(Transport, ({ send }) =>
      Transport.make({
        send: (request, done) => {
          if (!test(request)) return send(request, done)
          const n = numberOf(request)
          if (!left.has(n)) left.set(n, performance.now())
          return send(request, (report) => {
            if (report._tag === "Answered") {
              answered.set(n, performance.now())
              onAnswer(n)
            }
            done(report)
          })
        }
      })
    )
  ).pipe(Layer.provide(UndiciTransport.layer(options)))
  return { transport, left, answered }
}

/** Pause between events, in milliseconds. */
const pause = 20

/** Publishes events of a building at an even pace. Returns their latencies to the acknowledgement, in milliseconds. */
export const steadyLatencies = Effect.fnUntraced(function* (
  building: number,
  events: number,
  { answered }: Pick<Watch, "answered">
) {
  const publisher = yield* Publisher
  const publishedAt: Array<number> = []
  for (let n = 0; n < events; n++) {
    publishedAt.push(performance.now())
    yield* publisher.publish([eventIn(building, n)])
    yield* Effect.sleep(pause)
  }
  while (answered.size < events) yield* Effect.sleep(pause)
  return publishedAt.map((at, n) => (answered.get(n) ?? Number.NaN) - at)
})
