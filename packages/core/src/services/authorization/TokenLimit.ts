/**
 * How many tokens a client may be issued in a minute.
 *
 * Only requests that are about to be granted are counted: client ids are no secret, and nobody who merely knows one must be
 * able to stop its client. What is not granted writes nothing, and wrong secrets have a throttle of their own
 * (`GuessThrottle`).
 */
import { Context, Effect } from "effect"
import type { Client } from "../../domain/Client.ts"
import { isConfidential } from "../../domain/Client.ts"
import type { UserId } from "../../domain/Ids.ts"
import { makeMinuteCounter } from "../MinuteCounter.ts"
import { TooManyTokens } from "./OAuthError.ts"

export class TokenLimit extends Context.Service<
  TokenLimit,
  {
    /** Counts tokens that are about to be issued to a client for a user. */
    readonly count: (client: Client, user: UserId) => Effect.Effect<void, TooManyTokens>
  }
>()("@doorhook/core/services/authorization/TokenLimit") {}

/** A limit by the setting `tokenRequestsPerMinute`. */
export const make = (limit: number | null): TokenLimit["Service"] => {
  if (limit === null) return { count: () => Effect.void }
  const countOf = makeMinuteCounter()
  return {
    count: Effect.fnUntraced(function* (client, user) {
      const { count, seconds } = yield* countOf(
        isConfidential(client) ? JSON.stringify([client.id]) : JSON.stringify([client.id, user])
      )
      if (count > limit) return yield* new TooManyTokens({ limit, retry_after: seconds })
    })
  }
}
