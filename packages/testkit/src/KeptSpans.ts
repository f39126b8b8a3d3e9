/**
 * A tracer that keeps every span.
 */
import { Layer, Tracer } from "effect"

/** Makes the layer of a tracer, and the list of its spans in the order in which they began. */
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
