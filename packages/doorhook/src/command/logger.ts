/**
 * The command's logger: one line on standard error for each entry.
 */
import type { Layer } from "effect"
import { Logger } from "effect"
import { consoleLogger } from "../telemetry/LogLine.ts"

export const layer: Layer.Layer<never> = Logger.layer([consoleLogger])
