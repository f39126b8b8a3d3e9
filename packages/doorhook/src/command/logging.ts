/**
 * How the command logs: one line to standard error for what happened, with the time and the level.
 */
import type { Layer } from "effect"
import { Logger } from "effect"
import { logLine } from "../telemetry/LogLine.ts"

const lineLogger = Logger.make(
  (options): string => `${options.date.toISOString()} ${options.logLevel.toUpperCase()} ${logLine(options)}`
)

export const layer: Layer.Layer<never> = Logger.layer([Logger.withConsoleError(lineLogger)])
