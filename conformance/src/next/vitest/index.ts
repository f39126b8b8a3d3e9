/**
 * `@doorhook/conformance/vitest`: the suite as tests of a receiver's own project, one for each requirement.
 */
export { receiverSuite } from "./ReceiverSuite.ts"
export type { ReceiverSuiteOptions, StartedReceiver } from "./ReceiverSuite.ts"
