/**
 * `doorhook/effect`: doorhook for applications written in Effect.
 *
 * The services are in `@doorhook/core` (`Publisher`, `Deliveries`, `Integrations`, ...), the routes in
 * `@doorhook/server`. Everything runs in the application's runtime, with its clock, logger, tracer and configuration.
 */
// Imported first, to report a Node.js version that is too old for the other imports.
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
