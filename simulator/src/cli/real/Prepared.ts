/**
 * A run in real time that is ready to begin, whatever it goes against.
 */
import type { Effect } from "effect"
import type { HttpClient } from "effect/http"
import type { Findings } from "../../results/MakeReport.ts"
import type { RunObserver } from "../../run/Run.ts"
import type { RunReport } from "../../results/RunReport.ts"
import type { Target } from "../../run/Target.ts"

/** How a run knows what became of its events. */
interface Accounts {
  /** Waits until all has ended, or as long as told. */
  readonly settle: (grace: number) => Effect.Effect<void, never, HttpClient.HttpClient>
  readonly judged: () => Pick<Findings, "lost" | "broken" | "violations">
  /** Why nothing is known; null when something is. */
  readonly silence: () => string | null
}

export interface Prepared {
  readonly target: Target<HttpClient.HttpClient>
  readonly observer: Pick<RunObserver, "accepted">
  readonly accounts: Accounts
  readonly kind: RunReport["kind"]
  readonly name: string
  readonly integrations: number
}
