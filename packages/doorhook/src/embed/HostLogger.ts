/**
 * The host's own logger, in place of lines on standard error.
 */
import { nameOf } from "@doorhook/core"
import { Logger, Predicate } from "effect"
import type { Layer, LogLevel } from "effect"
import { guarded } from "../telemetry/GuardedLogger.ts"
import { consoleLogger, logLine } from "../telemetry/LogLine.ts"

/** Takes lines: `console`, pino, winston and most others do. */
export interface HostLogger {
  /** Takes lines for debugging; they are dropped without it. */
  readonly debug?: (line: string) => unknown
  /** Takes lines about normal operation. */
  readonly info: (line: string) => unknown
  /** Takes warnings. */
  readonly warn: (line: string) => unknown
  /** Takes errors. */
  readonly error: (line: string) => unknown
}

const methods = ["info", "warn", "error"] as const

/** What is wrong with it: a host in plain JavaScript has no types to rely on. */
export const problemsOf = (given: unknown): ReadonlyArray<string> => {
  if (given === undefined || given === false) return []
  const isLogger = Predicate.isObject(given) && methods.every((name) => Predicate.isFunction(Reflect.get(given, name)))
  return isLogger
    ? []
    : [`logger: must be an object with the methods ${methods.join(", ")}, or false, not ${nameOf(given)}`]
}

/** Hands a line on, to the method of its level. Loggers are called on themselves: many need their `this`. */
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

/** Writes to the host's logger; nothing when it is false; without one to standard error, like the command. */
export const layer = (logger: HostLogger | false | undefined): Layer.Layer<never> => {
  if (logger === undefined) return Logger.layer([guarded(consoleLogger)])
  if (logger === false) return Logger.layer([])
  return Logger.layer([guarded(Logger.make((options) => write(logger, options.logLevel, logLine(options))))])
}
