/**
 * The receiver conformance suite of doorhook.
 */
export { conformanceCommand } from "./command/ConformanceCommand.ts"
export type { RuleKit, Rules } from "./requirements/OwnRules.ts"
