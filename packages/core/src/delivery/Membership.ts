/**
 * This process's membership among the workers of one store: its name, its expiry, and whether deliveries may be leased
 * to it that it never received.
 *
 * If the store's answer to a call is lost, the call may have leased deliveries to this worker that it does not know of.
 * The next heartbeat then lists the deliveries that it knows, and the store releases the others. Deliveries of
 * publications in progress are exempt.
 *
 * Plain state without timers or I/O; never fails. All times are in milliseconds since the epoch.
 */
import type { DeliveryId } from "../model/Ids.ts"
import type { Heartbeat, Membership as Answer } from "../ports/DeliveryStore.ts"
import type { DeliverySettingsShape } from "./DeliverySettings.ts"
import { settleBudget } from "./DeliverySettings.ts"
import { Context, Effect } from "effect"
import type { AgreedSettings, Disagreement } from "../model/AgreedSettings.ts"
import { differencesText } from "../model/AgreedSettings.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { longestBeat } from "./EngineConstants.ts"

/** A publication that is being stored. */
export interface Publication {
  readonly began: number
}

export class Membership {
  /** Publications that are being stored. */
  readonly publications = new Set<Publication>()
  /**
   * Time between two heartbeats, in milliseconds. Short enough that the membership always lasts for another attempt.
   */
  readonly interval: number
  readonly #lease: number
  /** Longest duration of an attempt and its recording. */
  readonly #attempt: number
  #worker: string
  #until: number | null = null
  #lostAt: number | null = null

  constructor(worker: string, { ackTimeout, lease }: DeliverySettingsShape) {
    this.#worker = worker
    this.#lease = lease
    this.#attempt = ackTimeout + settleBudget
    this.interval = Math.min(longestBeat, (lease - this.#attempt) / 2)
  }

  /** The worker name that deliveries are leased to. */
  get worker(): string {
    return this.#worker
  }

  /** Whether deliveries may be leased to this worker that it does not know of. */
  get isInDoubt(): boolean {
    return this.#lostAt !== null
  }

  /**
   * Whether the store has answered a heartbeat under this name. The first heartbeat releases all earlier leases of the
   * name.
   */
  get hasBegun(): boolean {
    return this.#until !== null
  }

  /** Whether an attempt started now can end and be recorded before the membership expires. */
  mayStart(now: number): boolean {
    return this.#until !== null && this.#until >= now + this.#attempt
  }

  /**
   * Whether the membership has expired by this process's clock. Checked here too, because the answer that reports the
   * end may be lost.
   */
  hasLapsed(now: number): boolean {
    return this.#until !== null && this.#until <= now
  }

  /** Notes that an answer from the store was lost. */
  noteLostAnswer(now: number): void {
    this.#lostAt = now
  }

  /**
   * Returns the next heartbeat. `known` are this worker's deliveries if leases are in doubt, otherwise null. `spares`:
   * whether the store's clock has jumped.
   */
  heartbeat(now: number, known: ReadonlyArray<DeliveryId> | null, spares: boolean): Heartbeat {
    const before = Math.min(now, ...Array.from(this.publications, ({ began }) => began))
    const holds = known === null ? {} : { holds: { ids: known, before } }
    return { worker: this.#worker, now, until: now + this.#lease, ...holds, ...(spares && { spares }) }
  }

  /** Applies the answer to a heartbeat. Returns false if the earlier membership of this name had already ended. */
  renew({ holds, until }: Heartbeat, { continued }: Answer): boolean {
    // Deliveries created in the same millisecond are checked by the next heartbeat.
    if (holds !== undefined && this.#lostAt !== null && this.#lostAt < holds.before) this.#lostAt = null
    if (this.#until !== null && !continued) return false
    this.#until = until
    return true
  }

  /** Continues under another name, without leases and without a membership until the next heartbeat. */
  beginAgain(worker: string): void {
    this.#worker = worker
    this.#until = null
    this.#lostAt = null
  }
}

// Agreement of the processes that deliver from one database. The first process stores its settings. A worker whose
// settings differ is no member, unless no other worker is one: then its settings replace the stored ones. `doorhook
// settings accept` replaces the stored settings, too, and it alone replaces the directory, which decides who may receive
// an event. Workers whose settings differ from the new ones finish their attempts and leave.

export interface OwnSettings {
  readonly settings: AgreedSettings
  /** Short name of the settings for `doorhook settings accept`. */
  readonly id: string
  /** Stores the settings as the last proposal. */
  readonly propose: Effect.Effect<void, StoreError>
}

/** This process's settings; null if they are not compared. */
export const OwnSettings = Context.Reference<OwnSettings | null>("@doorhook/core/delivery/OwnSettings", {
  defaultValue: () => null
})

/** Whether a dispatcher's settings agree with the stored ones, from one heartbeat to the next. */
export class Agreement {
  readonly #own: OwnSettings | null
  #isAgreed = true
  #problem: string | null = null

  constructor(own: OwnSettings | null) {
    this.#own = own
  }

  /** This process's settings; null if they are not compared. */
  get settings(): AgreedSettings | null {
    return this.#own?.settings ?? null
  }

  /** Whether this process may send. */
  get isAgreed(): boolean {
    return this.#isAgreed
  }

  /** Which settings differ, and what to do; null if none. */
  get problem(): string | null {
    return this.#problem
  }

  /** Notes the answer to a heartbeat, and logs and proposes what has changed since the last. */
  note(disagreement: Disagreement | undefined): Effect.Effect<void> {
    if (this.#own === null) return Effect.void
    const before = this.#problem
    const { id, propose, settings } = this.#own
    this.#isAgreed = disagreement === undefined || disagreement.isReplaced
    const differing = disagreement === undefined ? "" : differencesText(disagreement.stored, settings)
    this.#problem =
      this.#isAgreed || differing === ""
        ? null
        : `Settings differ from those of the processes that deliver from this database: ${differing}. This process accepts events, but sends nothing until its settings are the same or those processes have ended. To use the settings of this process instead, run: doorhook settings accept ${id}`
    if (disagreement?.isReplaced === true) {
      return Effect.logInfo(`No other process delivers from this database, so its settings are now: ${differing}.`)
    }
    if (this.#problem === before) return Effect.void
    if (this.#problem === null) return Effect.logInfo("The settings agree with those in the database again.")
    return Effect.andThen(
      Effect.logWarning(this.#problem),
      Effect.catchTag(propose, "StoreError", ({ message }) => Effect.logWarning(message))
    )
  }
}
