/**
 * The suite on receivers that lack what their options need.
 */
import { receiverSuite } from "@doorhook/conformance/vitest"
import type { ReceiverSuiteOptions, StartedReceiver } from "@doorhook/conformance/vitest"
import { afterAll } from "vitest"

let stopped = 0
afterAll(() => void process.stderr.write(`${stopped} receivers were stopped\n`))

/** A URL that nothing is sent to. */
const url = "http://127.0.0.1:9/hook"
const probe = () => ({ effects: 0 })

const cases: ReadonlyArray<readonly [Omit<ReceiverSuiteOptions, "start">, Partial<StartedReceiver>]> = [
  [{ level: 2 }, {}],
  [{ level: 3 }, { probe }],
  [{ level: 2, profiles: ["clock"] }, { probe }],
  [{}, { pause: () => undefined }],
  [{ level: 2, profiles: ["tenant"], otherUrls: [url] }, { probe }]
]
for (const [options, given] of cases) {
  receiverSuite({ ...options, start: () => ({ url, ...given, stop: () => void stopped++ }) })
}
