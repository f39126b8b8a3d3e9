/**
 * How the command logs: one line to standard error for what happened.
 */
import type { Layer } from "effect"
import { Logger } from "effect"
import { consoleLogger } from "../telemetry/LogLine.ts"

export const layer: Layer.Layer<never> = Logger.layer([consoleLogger])
