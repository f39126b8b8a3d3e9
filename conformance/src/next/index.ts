/**
 * The receiver conformance suite of doorhook.
 */
export { conformanceCommand } from "./command/ConformanceCommand.ts"
