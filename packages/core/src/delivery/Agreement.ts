/**
 * Agreement of the processes that deliver from one database. Settings that must be equal are stored with the database.
 * A process whose settings differ accepts events, but does not send.
 *
 * - The first process stores its settings. Each worker sends its own with every heartbeat, and the store compares them.
 * - A worker that differs is no member, unless no other worker is one: then its settings replace the stored ones.
 * - `doorhook settings accept` replaces the stored settings by those of a process that differs. The other processes
 *   then differ: they stop sending, finish their attempts and leave.
 * - The directory is never replaced without that command, because it decides who may receive an event.
 */
import { Context, Effect } from "effect"
import type { AgreedSettings, Disagreement } from "../model/AgreedSettings.ts"
import { differencesText } from "../model/AgreedSettings.ts"
import type { StoreError } from "../ports/StoreError.ts"

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
