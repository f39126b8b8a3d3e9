/**
 * The contract of `Transport`. The cases send to receivers over real sockets. The caller provides `ScriptedReceivers`
 * and the system's clock.
 *
 * ```ts
 * const layer = Layer.merge(myTransport, myReceivers)
 * for (const { name, run } of provideEach(TransportSuite.cases, layer)) it.live(name, () => run)
 * ```
 */
import type { Transport } from "../ports/Transport.ts"
import type { SuiteCase } from "./SuiteCase.ts"
import { answerCases } from "./transport/AnswerCases.ts"
import { deadlineCases } from "./transport/DeadlineCases.ts"
import type { ScriptedReceivers } from "./transport/Receivers.ts"
import { requestCases } from "./transport/RequestCases.ts"

export type { ReceivedRequest, ReceiverScript, ReceiverStep, ScriptedReceiver } from "./transport/Receivers.ts"
export { ScriptedReceivers } from "./transport/Receivers.ts"

export const cases: ReadonlyArray<SuiteCase<Transport | ScriptedReceivers>> = [
  ...requestCases,
  ...answerCases,
  ...deadlineCases
]
