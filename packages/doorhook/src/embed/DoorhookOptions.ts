/**
 * The options of `createDoorhook`. All problems are reported together, each with the option's name, the given value and
 * the accepted values.
 */
import { nameOf } from "@doorhook/core"
import { McpRoutes } from "@doorhook/server"
import { Predicate } from "effect"
import type { DetailSetting } from "../config/DetailLimits.ts"
import { EngineConfig } from "../config/EngineConfig.ts"
import { InvalidConfig, problemsIn, readSettings } from "../config/ReadingSettings.ts"
import { checkEmbeddedConfig } from "../config/ServeConfig.ts"
import type { HostDirectory } from "../directory/FunctionDirectory.ts"
import * as FunctionDirectory from "../directory/FunctionDirectory.ts"
import { DoorhookError } from "../DoorhookError.ts"
import type { MaxDetailOf } from "./HostDetail.ts"
import type { OnNotification } from "./HostListener.ts"
import * as HostListener from "./HostListener.ts"
import type { HostLogger } from "./HostLogger.ts"
import * as HostLoggers from "./HostLogger.ts"

/** Options of `createDoorhook`. All but `directory` have defaults. */
export interface DoorhookOptions extends Omit<EngineConfig, "maxDetail"> {
  /**
   * Functions that look up the host's users, clients and buildings: the host's own, or `sqlDirectory` over its tables.
   */
  readonly directory: HostDirectory
  /**
   * Called with each notification: an integration is failing, was disabled, has recovered, or has exhausted deliveries.
   * May return a promise. Errors are logged. Default: notifications are only logged.
   */
  readonly onNotification?: OnNotification | undefined
  /**
   * The most that a client may get of the data of a resource type: `full`, `redacted` or `thin`, for all or by client and
   * type, like `{ clients: { acme: "thin" }, types: { access_log: "redacted" } }`, or a function of both. Applies to
   * webhooks and to everything that the client reads. Default: `full` for all.
   */
  readonly maxDetail?: MaxDetailOf | DetailSetting | undefined
  /** The endpoint `/mcp` for assistants, made by `mcp()` of `@doorhook/mcp`. Default: not served. */
  readonly mcp?: McpRoutes | undefined
  /**
   * Logger for doorhook's log lines. `console` and pino have this shape. `false` disables logging. Default: the
   * console.
   */
  readonly logger?: HostLogger | false | undefined
  /**
   * Whether traces, metrics and logs are exported to an OpenTelemetry collector. The usual `OTEL_*` environment
   * variables configure the export. Default false.
   */
  readonly telemetry?: boolean | undefined
}

/** Names of the options that are not settings of the engine. */
const hostOptions = ["directory", "onNotification", "mcp", "logger", "telemetry"] as const

const mcpProblems = (given: unknown): ReadonlyArray<string> =>
  given === undefined || given instanceof McpRoutes
    ? []
    : [`mcp: must be made by mcp() of @doorhook/mcp, not ${nameOf(given)}`]

const telemetryProblems = (given: unknown): ReadonlyArray<string> =>
  given === undefined || Predicate.isBoolean(given) ? [] : [`telemetry: must be true or false, not ${nameOf(given)}`]

/** Returns the settings among the options. Throws a `DoorhookError` that lists all problems. */
export const readOptions = (options: unknown): EngineConfig => {
  const isObject = Predicate.isObject(options)
  const given: Readonly<Record<string, unknown>> = isObject ? { ...options } : {}
  const { maxDetail, ...others } = given
  const settings = Predicate.isFunction(maxDetail) ? others : given
  const { problems: misread, usable } = readSettings(EngineConfig, settings, hostOptions)
  const problems = [
    ...(isObject ? [] : [`the options must be an object, not ${nameOf(options)}`]),
    ...FunctionDirectory.problemsOf(given["directory"]),
    ...HostListener.problemsOf(given["onNotification"]),
    ...HostLoggers.problemsOf(given["logger"]),
    ...telemetryProblems(given["telemetry"]),
    ...mcpProblems(given["mcp"]),
    ...misread,
    ...problemsIn([checkEmbeddedConfig(usable)])
  ]
  if (problems.length === 0) return usable
  throw new DoorhookError("invalid_config", problems.join("; "), new InvalidConfig({ message: problems.join("; ") }))
}
