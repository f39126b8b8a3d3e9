/**
 * How the command logs: one line to standard error for what happened, with the time and the level. A defect is followed by
 * its stack, for those who mend it.
 */
import { rootMessage } from "@doorhook/core"
import type { Layer } from "effect"
import { Cause, Logger, Predicate } from "effect"

const textOf = (part: unknown): string =>
  Predicate.isString(part) ? part : Predicate.isError(part) ? rootMessage(part) : JSON.stringify(part)

const messageText = (message: unknown): string => (Array.isArray(message) ? message : [message]).map(textOf).join(": ")

const lineLogger = Logger.make(({ cause, date, logLevel, message }): string => {
  const line = `${date.toISOString()} ${logLevel.toUpperCase()} ${messageText(message).replaceAll(/\s+/g, " ")}`
  return cause.reasons.length === 0 ? line : `${line}\n${Cause.pretty(cause)}`
})

export const layer: Layer.Layer<never> = Logger.layer([Logger.withConsoleError(lineLogger)])
