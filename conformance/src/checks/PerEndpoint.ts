/**
 * Each event has one effect at each of the receiver's URLs it came to. A probe that does not tell them apart counts all
 * of them together.
 */
import type { Trace } from "../observed/Trace.ts"
import type { Finding } from "./Finding.ts"
import { fail, nothing, pass } from "./Finding.ts"
import { endpointsOf, storiesOf } from "./Story.ts"
import type { Terms } from "./Terms.ts"

export const oncePerEndpoint = (trace: Trace, terms: Terms): Finding => {
  let good = 0
  for (const { attempts, event, last, sent, shared, state } of storiesOf(trace, terms)) {
    const elsewhere = trace.effectsElsewhere[event] ?? null
    if (last === null || elsewhere === null || state !== "acknowledged") continue
    const endpoints = endpointsOf(attempts)
    const here = `effects = ${last} at the first URL and ${elsewhere.last} at the other for ${sent.webhookId}`
    const place = attempts.at(-1)?.[0] ?? null
    if (endpoints === 1) {
      if (last !== 1) return fail(place, here, false, event)
      // Where the URLs may be counted together, the one there may be the one here.
      if (elsewhere.last > (trace.blindToUrls === false ? 0 : 1)) return fail(place, here, false, event)
    } else if (last !== shared || elsewhere.last !== shared) {
      const dropped = ", and the probe does not tell the URLs apart: one of the two deliveries was dropped"
      return fail(place, trace.blindToUrls === true && last < shared ? `${here}${dropped}` : here, false, event)
    }
    good += 1
  }
  return good === 0 ? nothing("no event's effects were read at both URLs") : pass([], good)
}
