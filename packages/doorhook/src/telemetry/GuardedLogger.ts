/**
 * Loggers whose failures are their own: a file that is full or a stream that has ended costs lines, and nothing else.
 */
import { Effect, Layer, Logger, Predicate } from "effect"

const ignore = (): void => undefined

/** The same logger; what it throws, or rejects with, is dropped. */
export const guarded = <Message>(logger: Logger.Logger<Message, unknown>): Logger.Logger<Message, void> =>
  Logger.make((options) => {
    try {
      const written = logger.log(options)
      if (Predicate.isPromiseLike(written)) written.then(ignore, ignore)
    } catch {
      // There is nobody left to tell.
    }
  })

/** Guards the loggers of the application for all that runs over this. */
export const layer: Layer.Layer<never> = Layer.effect(
  Logger.CurrentLoggers,
  Effect.map(Logger.CurrentLoggers, (loggers) => new Set(Array.from(loggers, guarded)))
)
