/**
 * What `createDoorhook` is given, and how it is read: every problem at once, each with the option's name, what was given and
 * what is accepted.
 */
import { nameOf } from "@doorhook/core"
import { Predicate } from "effect"
import { EngineConfig } from "../config/EngineConfig.ts"
import { InvalidConfig, problemsIn, readSettings } from "../config/ReadingSettings.ts"
import { checkConfig } from "../config/ServeConfig.ts"
import type { HostDirectory } from "../directory/FunctionDirectory.ts"
import * as FunctionDirectory from "../directory/FunctionDirectory.ts"
import { DoorhookError } from "../DoorhookError.ts"
import type { OnNotification } from "./HostListener.ts"
import * as HostListener from "./HostListener.ts"
import type { HostLogger } from "./HostLogger.ts"
import * as HostLoggers from "./HostLogger.ts"

/** What `createDoorhook` takes. All but `directory` have defaults. */
export interface DoorhookOptions extends EngineConfig {
  /** The host's users, clients and buildings: functions of its own, or `sqlDirectory` over its tables. */
  readonly directory: HostDirectory
  /**
   * Gets each notification about integrations: that one fails, was disabled, recovered, or had deliveries given up. May return a
   * promise; what it throws is logged. Default: notifications are only logged.
   */
  readonly onNotification?: OnNotification | undefined
  /** Takes doorhook's own lines, as `console` and pino do; `false` for none. Default: the console. */
  readonly logger?: HostLogger | false | undefined
  /**
   * Whether traces, metrics and logs go to an OpenTelemetry collector, which the usual `OTEL_*` variables of the environment
   * name. Default false.
   */
  readonly telemetry?: boolean | undefined
}

/** The public URL of an embedded doorhook that neither has one set nor has learned one. */
export const defaultPublicUrl = "http://localhost:4000"

/** What the options mean that the engine has no name for. */
const hostOptions = ["directory", "onNotification", "logger", "telemetry"] as const

const telemetryProblems = (given: unknown): ReadonlyArray<string> =>
  given === undefined || Predicate.isBoolean(given) ? [] : [`telemetry: must be true or false, not ${nameOf(given)}`]

/** A service prints a secret that it makes; a host's log is no place for one. */
const secretProblems = ({ notificationSecret, notificationUrl }: EngineConfig): ReadonlyArray<string> =>
  notificationUrl === undefined || notificationSecret !== undefined
    ? []
    : ["notificationSecret: must be given with notificationUrl, like `whsec_` and 24 random bytes in base64"]

/** The settings among the options; throws a `DoorhookError` with every problem when there are any. */
export const readOptions = (options: unknown): EngineConfig => {
  const isObject = Predicate.isObject(options)
  const given: Readonly<Record<string, unknown>> = isObject ? { ...options } : {}
  const { problems: misread, usable } = readSettings(EngineConfig, given, hostOptions)
  const problems = [
    ...(isObject ? [] : [`the options must be an object, not ${nameOf(options)}`]),
    ...FunctionDirectory.problemsOf(given["directory"]),
    ...HostListener.problemsOf(given["onNotification"]),
    ...HostLoggers.problemsOf(given["logger"]),
    ...telemetryProblems(given["telemetry"]),
    ...secretProblems(usable),
    ...misread,
    ...problemsIn([checkConfig(usable)])
  ]
  if (problems.length === 0) return usable
  throw new DoorhookError("invalid_config", problems.join("; "), new InvalidConfig({ message: problems.join("; ") }))
}
