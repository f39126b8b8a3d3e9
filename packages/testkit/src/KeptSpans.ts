/**
 * A tracer that keeps every span.
 */
import { Layer, Tracer } from "effect"

/** Makes the tracer's layer, and the list of spans that were begun with it, in order. */
export const keptSpans = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const layer = Layer.succeed(
    Tracer.Tracer,
    Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
  )
  return { layer, spans }
}
