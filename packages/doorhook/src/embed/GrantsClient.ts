/**
 * What a user has granted to clients: which there are, and their end.
 */
import { GrantDocument } from "@doorhook/server"
import { Predicate, Schema } from "effect"
import { idIn, optionsOf, queryOf } from "./Arguments.ts"
import type { OperatorCalls } from "./OperatorCalls.ts"

/** What a user has granted to a client by logging in for it. `created_at` is ISO 8601 UTC. */
export type GrantSummary = GrantDocument

/** What to end. */
export interface GrantRevokeOptions {
  /** The `client_id` of one client. Left out: all clients. Never undefined or null, which may be an id that is missing. */
  readonly client?: string
}

const GrantList = Schema.Struct({ grants: Schema.Array(GrantDocument) })
const Revoked = Schema.Struct({ grants: Schema.Finite })

/** Calls reject with a `DoorhookError`: `bad_request` for what is no id at all. */
export interface GrantsClient {
  /** What a user has granted and works still, the oldest first, 1,000 at most. `userId` is what the directory's `authenticate` or `session` answers. */
  readonly list: (userId: string) => Promise<ReadonlyArray<GrantSummary>>
  /**
   * Ends what a user has granted, to all clients or to one: their tokens are refused from the next request on. Says how many
   * grants it ended. Call it when a password has changed, after that and after sessions of your own were ended.
   */
  readonly revoke: (userId: string, options?: GrantRevokeOptions) => Promise<number>
}

const userIn = (given: string): string => idIn("userId", given, "the id of a user, as your directory answers it")

export const makeGrantsClient = ({ read }: OperatorCalls): GrantsClient => ({
  list: async (userId) =>
    (await read(GrantList, "GET", `/operator/grants${queryOf({ user_id: userIn(userId) })}`)).grants,
  revoke: async (userId, options) => {
    const given = optionsOf(options, ["client"])
    // An id that is missing by mistake must not end everything.
    const expected = `the id of a client${Predicate.isNotNullish(given.client) ? "" : ", or left out for all clients"}`
    const only = "client" in given ? { client_id: idIn("client", given.client, expected) } : {}
    return (await read(Revoked, "POST", "/operator/grants/revoke", { user_id: userIn(userId), ...only })).grants
  }
})
