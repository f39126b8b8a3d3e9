/**
 * Logs to the host's logger instead of standard error.
 */
import { nameOf } from "@doorhook/core"
import { Logger, Predicate } from "effect"
import type { Layer, LogLevel } from "effect"
import { consoleLogger, guarded, logLine } from "../telemetry/Loggers.ts"

/** A logger for lines of text. `console`, pino, winston and most others have this shape. */
export interface HostLogger {
  /** Logs a debug line. Without this method, debug lines are dropped. */
  readonly debug?: (line: string) => unknown
  /** Logs a line about normal operation. */
  readonly info: (line: string) => unknown
  /** Logs a warning. */
  readonly warn: (line: string) => unknown
  /** Logs an error. */
  readonly error: (line: string) => unknown
}

const methods = ["info", "warn", "error"] as const

/** Returns the problems of the logger, because a host in plain JavaScript has no type checks. */
export const problemsOf = (given: unknown): ReadonlyArray<string> => {
  if (given === undefined || given === false) return []
  const isLogger = Predicate.isObject(given) && methods.every((name) => Predicate.isFunction(Reflect.get(given, name)))
  return isLogger
    ? []
    : [`logger: must be an object with the methods ${methods.join(", ")}, or false, not ${nameOf(given)}`]
}

/** Calls the logger's method for the level, with the logger as `this`, which many loggers need. */
const write = (logger: HostLogger, level: LogLevel.LogLevel, line: string): unknown => {
  switch (level) {
    case "Fatal":
    case "Error":
      return logger.error(line)
    case "Warn":
      return logger.warn(line)
    case "Info":
      return logger.info(line)
    default:
      return logger.debug?.(line)
  }
}

/** Logs to the host's logger. For false, logging is disabled; for undefined, lines go to standard error. */
export const layer = (logger: HostLogger | false | undefined): Layer.Layer<never> => {
  if (logger === undefined) return Logger.layer([guarded(consoleLogger)])
  if (logger === false) return Logger.layer([])
  return Logger.layer([guarded(Logger.make((options) => write(logger, options.logLevel, logLine(options))))])
}
