/**
 * Door and call traffic that looks like days in real buildings: plans, live streams, and load for a service.
 *
 * world -> traffic -> plan -> run: what exists, who moves when, what is written down, who is told.
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
export { Equipment } from "./run/Equipment.ts"
export type { EquipmentShape } from "./run/Equipment.ts"
export * from "./run/DemoTraffic.ts"
export type { Service } from "./run/OperatorApi.ts"
export * from "./run/Pace.ts"
export * from "./run/Run.ts"
export { Measurements } from "./results/Measurements.ts"
export { readSlos } from "./results/Slo.ts"
export { readReceiver, receiverForms } from "./receivers/ReceiverText.ts"
export { orderly, disturbed } from "./plan/Disorder.ts"
export type { Target } from "./run/Target.ts"
export { serviceTarget } from "./run/OperatorApi.ts"
export type { RunReport } from "./results/RunReport.ts"
export { htmlReport } from "./report/Html.ts"
export { csvReport } from "./report/Csv.ts"

// command
export { showProgress } from "./cli/Progress.ts"
export { simulateCommand } from "./cli/SimulateCommand.ts"
