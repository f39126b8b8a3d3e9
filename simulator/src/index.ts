/**
 * Realistic door and call traffic of buildings: plans, live streams, and load for a service.
 *
 * The layers: world (what exists), traffic (who moves when), plan (what is recorded), run (where it is sent).
 */
// scenarios
export { demo, demoDirectory } from "./scenario/Demo.ts"
export { buildingsAndTenants } from "./scenario/Directory.ts"
export type { DirectoryFile } from "./scenario/Directory.ts"
export * from "./scenario/Presets.ts"
export * from "./scenario/Scenario.ts"
export { InvalidScenario, readScenario } from "./scenario/Resolve.ts"
export { ScenarioDocument } from "./scenario/ScenarioDocument.ts"

// plans
export { maxRateScale } from "./plan/Plan.ts"
export { lineChunks } from "./plan/Plan.ts"
export { lineOf } from "./plan/PlannedEvent.ts"
export * from "./plan/Plan.ts"
export { PlannedEvent } from "./plan/PlannedEvent.ts"
export * as LocalTime from "./world/LocalTime.ts"

// runs
export { Measurements } from "./results/Measurements.ts"
export { runDemo } from "./run/DemoTraffic.ts"
export { Equipment } from "./cli/Destination.ts"
export type { Target } from "./run/OperatorApi.ts"

// command
export { showProgress } from "./cli/Progress.ts"
export { simulateCommand } from "./cli/SimulateCommand.ts"
