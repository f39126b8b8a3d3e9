/**
 * Formats log entries as lines, for standard error and for a host's logger, and guards loggers that fail.
 */
import { rootMessage } from "@doorhook/core"
import { Cause, Effect, Layer, Logger, Predicate, References } from "effect"

const textOf = (part: unknown): string =>
  Predicate.isString(part) ? part : Predicate.isError(part) ? rootMessage(part) : JSON.stringify(part)

const messageText = (message: unknown): string => (Array.isArray(message) ? message : [message]).map(textOf).join(": ")

/**
 * Returns the message and its annotations, like a request id (`request_id=req_...`), on one line. For a defect, the
 * stack follows.
 */
export const logLine = ({ cause, fiber, message }: Logger.Options<unknown>): string => {
  const about = Object.entries(fiber.getRef(References.CurrentLogAnnotations))
  const line = [
    messageText(message).replaceAll(/\s+/g, " "),
    ...about.map(([name, value]) => `${name}=${textOf(value)}`)
  ]
  return [line.join(" "), ...(cause.reasons.length === 0 ? [] : [Cause.pretty(cause)])].join("\n")
}

/** Writes log lines to standard error, with time and level. */
export const consoleLogger = Logger.withConsoleError(
  Logger.make(
    (options): string => `${options.date.toISOString()} ${options.logLevel.toUpperCase()} ${logLine(options)}`
  )
)

const ignore = (): void => undefined

/** Wraps a logger to drop its errors and rejections. After a failure, like a full disk, only log lines are lost. */
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
export const guardedLoggers: Layer.Layer<never> = Layer.effect(
  Logger.CurrentLoggers,
  Effect.map(Logger.CurrentLoggers, (loggers) => new Set(Array.from(loggers, guarded)))
)
