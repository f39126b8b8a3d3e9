/**
 * Keeps failing loggers from doing harm. After a failure, like a full disk or a closed stream, only log lines are lost.
 */
import { Effect, Layer, Logger, Predicate } from "effect"

const ignore = (): void => undefined

/** Wraps a logger to drop its errors and rejections. */
export const guarded = <Message>(logger: Logger.Logger<Message, unknown>): Logger.Logger<Message, void> =>
  Logger.make((options) => {
    try {
      const written = logger.log(options)
      if (Predicate.isPromiseLike(written)) written.then(ignore, ignore)
    } catch {
      // A logger's failure can't be logged.
    }
  })

/** Guards the application's loggers for all services in this layer. */
export const layer: Layer.Layer<never> = Layer.effect(
  Logger.CurrentLoggers,
  Effect.map(Logger.CurrentLoggers, (loggers) => new Set(Array.from(loggers, guarded)))
)
