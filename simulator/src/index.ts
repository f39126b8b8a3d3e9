/**
 * Door and call traffic that looks like days in real buildings: plans, live streams, and load for a service.
 *
 * world -> traffic -> plan -> run: what exists, who moves when, what is written down, where it is sent.
 */
// scenarios
export { demo, demoDirectory } from "./scenario/Demo.ts"
export { buildingsAndTenants } from "./scenario/DirectoryFile.ts"
export type { DirectoryFile } from "./scenario/DirectoryFile.ts"
export * from "./scenario/Presets.ts"
export * from "./scenario/Scenario.ts"
export { InvalidScenario, readScenario } from "./scenario/document/ReadScenario.ts"
export { ScenarioDocument } from "./scenario/document/ScenarioDocument.ts"

// plans
export { maxRateScale } from "./plan/EventNumber.ts"
export { lineChunks } from "./plan/LineChunks.ts"
export { lineOf } from "./plan/Lines.ts"
export * from "./plan/Plan.ts"
export { PlannedEvent } from "./plan/PlannedEvent.ts"
export * as LocalTime from "./world/LocalTime.ts"

// runs
export { Measurements } from "./results/Measurements.ts"
export { runDemo } from "./run/DemoTraffic.ts"
export { Equipment } from "./run/Equipment.ts"
export type { Target } from "./run/OperatorApi.ts"

// the delivery engine in simulated worlds
export * from "./engine/checks/All.ts"
export { hashOf } from "./engine/History.ts"
export { describeFailures, replayOf } from "./engine/Report.ts"
export { simulate } from "./engine/Simulation.ts"
export type { Breakage, Outcome, SimulationOptions } from "./engine/Simulation.ts"
export { sharedMemory, storesOf } from "./engine/world/Storage.ts"
export type { Storage, StorageKind } from "./engine/world/Storage.ts"
export { weekOf } from "./engine/world/Week.ts"

// command
export { showProgress } from "./cli/Progress.ts"
export { simulateCommand } from "./cli/SimulateCommand.ts"
