/**
 * Does the work of stored deliveries after the response, until it succeeds or all retries have failed.
 */
import type { Delivery } from "./Delivery.ts"
import { reasonOf } from "./Problem.ts"
import type { Problem } from "./Problem.ts"
import type { ClaimedWork, DamagedWork, ReceiverStore } from "./Store.ts"

export interface WorkContext {
  /** Number of earlier failures of this delivery's work. */
  readonly failures: number
  /**
   * Aborted when the receiver closes. Pass it to `fetch` to stop work early; the work then runs again after a restart.
   */
  readonly signal: AbortSignal
}

export interface WorkerSettings<Tx> {
  readonly store: ReceiverStore<Tx>
  readonly work: (delivery: Delivery, context: WorkContext) => void | Promise<void>
  /** Delays before each retry, in milliseconds. Gives up when all retries have failed. */
  readonly retryDelaysMs: ReadonlyArray<number>
  readonly alertAfter: number
  readonly concurrency: number
  readonly onProblem: (problem: Problem) => void
  readonly now: () => number
}

export interface Worker {
  /** Looks for due work. */
  readonly wake: () => void
  /** Starts no more work, and resolves when running work has ended. */
  readonly close: () => Promise<void>
}

/**
 * Length of the lease on claimed work, in milliseconds. The lease is renewed while the work runs, and ends after a
 * crash, so the work becomes due again.
 */
const leaseMs = 15_000

/** Pause after a failure of the store, in milliseconds. */
const storePauseMs = 1_000

export const makeWorker = <Tx>(settings: WorkerSettings<Tx>): Worker => {
  const { alertAfter, concurrency, now, onProblem, retryDelaysMs, store, work } = settings
  const closing = new AbortController()
  const running = new Set<Promise<void>>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let search: Promise<void> | null = null
  let isWoken = false

  const storeFailed = (cause: unknown, id: string | null): void => {
    const message = `the store failed: ${reasonOf(cause)}; retrying in ${storePauseMs} ms. Check the database`
    onProblem({ kind: "store_failed", severity: "alert", message, id, cause })
  }

  const failed = async ({ delivery: { id }, failures, key }: ClaimedWork, cause: unknown): Promise<void> => {
    // The receiver is closing, which may be why the work failed. The work stays due, for the next process.
    if (closing.signal.aborted) return store.settle(key, now(), null)
    const delay = retryDelaysMs[failures] ?? null
    const next = delay === null ? "gave up: handle this delivery manually" : `retrying in ${delay} ms`
    onProblem({
      kind: delay === null ? "work_given_up" : "work_failed",
      severity: delay === null || failures + 1 >= alertAfter ? "alert" : "warning",
      message: `work failed (${failures + 1}): ${reasonOf(cause)}; ${next}`,
      id,
      cause
    })
    await store.settle(key, delay === null ? null : now() + delay, reasonOf(cause))
  }

  const run = async (claimed: ClaimedWork): Promise<void> => {
    const { delivery, failures, key } = claimed
    // The receiver closed during the claim.
    if (closing.signal.aborted) return store.settle(key, now(), null)
    let renewal: Promise<void> = Promise.resolve()
    const renewing = setInterval(() => {
      renewal = store.settle(key, now() + leaseMs, null).catch((cause: unknown) => storeFailed(cause, delivery.id))
    }, leaseMs / 3)
    /** Stops renewing and waits for a renewal in flight, which must not overwrite the outcome. */
    const endRenewing = (): Promise<void> => {
      clearInterval(renewing)
      return renewal
    }
    try {
      await work(delivery, { failures, signal: closing.signal })
    } catch (cause) {
      await endRenewing()
      return failed(claimed, cause)
    }
    await endRenewing()
    await store.settle(key, null, null)
  }

  /** Gives up work that the store can't read, so that other work continues. */
  const giveUp = ({ damage, id, key }: DamagedWork): Promise<void> => {
    const message = `the work can't be read from the store: ${damage}; handle this delivery manually`
    onProblem({ kind: "work_given_up", severity: "alert", message, id, cause: null })
    return store.settle(key, null, damage)
  }

  const start = (claimed: ClaimedWork | DamagedWork): void => {
    const isDamaged = "damage" in claimed
    const one = (isDamaged ? giveUp(claimed) : run(claimed))
      .catch((cause: unknown) => storeFailed(cause, isDamaged ? claimed.id : claimed.delivery.id))
      .finally(() => {
        running.delete(one)
        wake()
      })
    running.add(one)
  }

  /** Starts due work, and returns how long to wait before looking again, in milliseconds. */
  const startDue = async (): Promise<number> => {
    const free = concurrency - running.size
    if (free <= 0) return leaseMs
    for (const claimed of await store.claim(now(), now() + leaseMs, free)) start(claimed)
    const next = await store.nextDue()
    // Looks at least once per lease, to find work that a crashed process left.
    return next === null ? leaseMs : Math.min(Math.max(next - now(), 1), leaseMs)
  }

  const look = async (): Promise<void> => {
    let pause = storePauseMs
    while (isWoken && !closing.signal.aborted) {
      isWoken = false
      pause = await startDue().catch((cause: unknown) => {
        storeFailed(cause, null)
        return storePauseMs
      })
    }
    search = null
    if (closing.signal.aborted) return
    timer = setTimeout(wake, pause)
    // Waiting work is on disk, so it need not keep the process alive.
    timer.unref()
  }

  const wake = (): void => {
    isWoken = true
    if (search !== null || closing.signal.aborted) return
    clearTimeout(timer)
    search = look()
  }

  return {
    wake,
    close: async () => {
      closing.abort()
      clearTimeout(timer)
      await search
      await Promise.all(running)
    }
  }
}
