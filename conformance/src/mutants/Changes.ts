/**
 * What several wrong receivers do, and the row that says so of each.
 */
import { parseEvent, Refusal } from "@doorhook/receiver"
import type { Delivery, ReceivedRequest } from "@doorhook/receiver"
import type { Level, Profile, Requirement } from "../requirements/Requirement.ts"
import { acknowledged, pause, plain, scopeOf, socketOf } from "./Base.ts"
import type { Box, Change } from "./Base.ts"

/** Wrong receivers by the requirement that must find them out and by their names, which reports list. */
export interface Rows {
  readonly [requirement: Requirement["id"]]: Readonly<Record<string, Row>>
}

type Row = readonly [
  /** What it does wrong, in one sentence. */
  does: string,
  change: Change,
  /** Where it is tried otherwise than its requirement is tested. */
  tried?: { readonly level?: Level; readonly profile?: Profile; readonly found?: "FAIL" | "WARN" }
]

export const idOf = ({ headers }: ReceivedRequest): string => headers["webhook-id"] ?? ""

/** The key that the correct receiver marks. */
export const keyOf = (request: ReceivedRequest): string => `${scopeOf(request)} ${idOf(request)}`

export const isCall = ({ event }: Delivery): boolean => event.resource_type === "call"

export const isEvent = (body: Uint8Array): boolean => !("wrong" in parseEvent(body))

/** Whether the sender has hung up. */
export const isGone = (request: ReceivedRequest): boolean => socketOf(request).destroyed

/** Refuses some events, or all of them, once the work is done. */
export const refuses =
  (status: number, isRefused: (delivery: Delivery, isNew: boolean) => boolean = () => true): Change =>
  () => ({
    acknowledge: (isNew, delivery) => (isRefused(delivery, isNew) ? plain(status, "refused") : acknowledged)
  })

/** Refuses attempts that do not fit the first one of their event. */
export const refusesUnlike =
  <A>(of: (delivery: Delivery, request: ReceivedRequest) => A, fits: (own: A, first: A) => boolean): Change =>
  () => {
    const firsts = new Map<string, A>()
    return {
      acknowledge: (_, delivery, request) => {
        const own = of(delivery, request)
        const first = firsts.get(delivery.id) ?? own
        firsts.set(delivery.id, first)
        return fits(own, first) ? acknowledged : plain(409, "not as before")
      }
    }
  }

/** Refuses some requests before their body is read. */
export const turnsAway =
  (status: number, isRefused: (request: ReceivedRequest) => boolean): Change =>
  (correct) => ({
    admit: (request) => {
      correct.admit(request)
      if (isRefused(request)) throw new Refusal(status, "not here")
    }
  })

export const unavailable = (): Refusal => new Refusal(503, "busy", { headers: { "retry-after": "1" } })

/** Does something else with an event that comes while this many others are worked on, for some milliseconds each. */
export const besideOthers =
  (most: number, otherwise: (box: Box, key: string) => boolean): Change =>
  (correct, box) => {
    let busy = 0
    return {
      keep: async (key, ...given) => {
        if (busy >= most) return otherwise(box, key)
        busy += 1
        await pause(12)
        busy -= 1
        return correct.keep(key, ...given)
      }
    }
  }

/** Does something else with a copy that comes while the first is worked on, for some milliseconds. */
export const besideItself =
  (milliseconds: number, otherwise: () => Promise<boolean>): Change =>
  (correct) => {
    const running = new Set<string>()
    return {
      keep: async (key, ...given) => {
        if (running.has(key)) return otherwise()
        running.add(key)
        await pause(milliseconds)
        const isNew = await correct.keep(key, ...given)
        running.delete(key)
        return isNew
      }
    }
  }

/** Acknowledges some events and does nothing. */
export const drops =
  (isDropped: (delivery: Delivery, request: ReceivedRequest) => boolean): Change =>
  (correct) => ({
    keep: async (key, ...given) => !isDropped(...given) && correct.keep(key, ...given)
  })

/** Looks whether it knows the event, waits, acts, and then marks it. */
export const checkThenAct =
  (wait: () => Promise<unknown>): Change =>
  (_, { act, ledger, mark }) => ({
    keep: async (key, ...given) => {
      if (ledger.isKnown(key)) return false
      await wait()
      act(...given)
      return mark(key)
    }
  })
