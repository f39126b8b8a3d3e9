/**
 * How many requests an authorization may make in a minute, counted in this process.
 *
 * Counted by grant and not by access token, as a client could refresh its token to start anew.
 */
import type { GrantId } from "@doorhook/core"
import { makeMinuteCounter, minuteWindow } from "@doorhook/core"
import { Clock, Effect } from "effect"
import type { RequestFailure } from "../http/RequestFailure.ts"
import { failure } from "../http/RequestFailure.ts"

type Headers = Readonly<Record<string, string>>

/** Counts a request: the headers to answer it with (draft-ietf-httpapi-ratelimit-headers), or the refusal. */
export type RateLimit = (grant: GrantId) => Effect.Effect<Headers, RequestFailure>

/** A limit of so many requests; null is none. */
export const makeRateLimit = (limit: number | null): RateLimit => {
  if (limit === null) return () => Effect.succeed({})
  const countOf = makeMinuteCounter()
  return Effect.fnUntraced(function* (grant) {
    const { count, seconds } = countOf(grant, yield* Clock.currentTimeMillis)
    const headers = {
      "ratelimit-policy": `"default";q=${limit};w=${minuteWindow / 1_000}`,
      ratelimit: `"default";r=${Math.max(0, limit - count)};t=${seconds}`
    }
    if (count <= limit) return headers
    return yield* failure(
      429,
      {
        code: "rate_limited",
        title: "Too many requests",
        detail: `At most ${limit} requests a minute are taken. Try again in ${seconds} s.`
      },
      { ...headers, "retry-after": String(seconds) }
    )
  })
}
