/**
 * doorhook for applications that are written in Effect: `doorhook/effect`.
 *
 * Its services are those of `@doorhook/core` (`Publisher`, `Deliveries`, `Integrations`, ...) and its routes those of
 * `@doorhook/server`. They run in the application's own runtime: its clock, its logger, its tracer and its configuration.
 */
// First: it says when this Node.js is too old for what comes after it.
export { supportedNode } from "./supportedNode.ts"
export { layer } from "./embed/DoorhookLayer.ts"
export { EngineConfig } from "./config/EngineConfig.ts"
export { fromEnvironment } from "./config/EnvironmentConfig.ts"
export { InvalidConfig } from "./config/ReadingSettings.ts"
export type { HostDirectory } from "./directory/FunctionDirectory.ts"
export { layer as directoryOf } from "./directory/FunctionDirectory.ts"
export { Routes, routerConfig } from "@doorhook/server"
export type { Port, StoragePort } from "./service/Ports.ts"
export { GaugeInterval } from "./telemetry/KeptGauges.ts"
export { Tracing } from "./telemetry/Spans.ts"
