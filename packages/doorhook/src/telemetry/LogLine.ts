/**
 * What happened, as one line of a log: of the command, of a host without a logger, and in a host's own logger.
 */
import { rootMessage } from "@doorhook/core"
import { Cause, Logger, Predicate, References } from "effect"

const textOf = (part: unknown): string =>
  Predicate.isString(part) ? part : Predicate.isError(part) ? rootMessage(part) : JSON.stringify(part)

const messageText = (message: unknown): string => (Array.isArray(message) ? message : [message]).map(textOf).join(": ")

/**
 * The message and what it is about, like the id of a request (`request_id=req_...`), on one line. A defect is followed by its
 * stack, for those who mend it.
 */
export const logLine = ({ cause, fiber, message }: Logger.Options<unknown>): string => {
  const about = Object.entries(fiber.getRef(References.CurrentLogAnnotations))
  const line = [
    messageText(message).replaceAll(/\s+/g, " "),
    ...about.map(([name, value]) => `${name}=${textOf(value)}`)
  ]
  return [line.join(" "), ...(cause.reasons.length === 0 ? [] : [Cause.pretty(cause)])].join("\n")
}

/** Writes such lines to standard error, with the time and the level. */
export const consoleLogger = Logger.withConsoleError(
  Logger.make(
    (options): string => `${options.date.toISOString()} ${options.logLevel.toUpperCase()} ${logLine(options)}`
  )
)
