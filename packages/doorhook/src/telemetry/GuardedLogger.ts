/**
 * Keeps failing loggers from affecting anything else: a full disk or a closed stream only loses log lines.
 */
import { Effect, Layer, Logger, Predicate } from "effect"

const ignore = (): void => undefined

/** The same logger, but errors and rejections are dropped. */
export const guarded = <Message>(logger: Logger.Logger<Message, unknown>): Logger.Logger<Message, void> =>
  Logger.make((options) => {
    try {
      const written = logger.log(options)
      if (Predicate.isPromiseLike(written)) written.then(ignore, ignore)
    } catch {
      // There is no place left to report this.
    }
  })

/** Guards the application's loggers for everything that runs over this layer. */
export const layer: Layer.Layer<never> = Layer.effect(
  Logger.CurrentLoggers,
  Effect.map(Logger.CurrentLoggers, (loggers) => new Set(Array.from(loggers, guarded)))
)
