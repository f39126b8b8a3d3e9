/**
 * Does what a kept delivery asks for, after it was acknowledged: until it succeeds, or the delays are used up.
 */
import type { Delivery } from "./Delivery.ts"
import { causeInWords } from "./Problem.ts"
import type { Problem } from "./Problem.ts"
import type { ReceiverStore, Waiting } from "./Store.ts"

export interface WorkSettings<Tx> {
  readonly store: ReceiverStore<Tx>
  /**
   * At least once for each delivery: after a crash it may be called again, so pass `delivery.id` on as an idempotency
   * key, or let it be harmless twice.
   */
  readonly work: (delivery: Delivery) => void | Promise<void>
  /** What is waited after each failure, in milliseconds; one more failure than that gives up. */
  readonly retryDelaysMs: ReadonlyArray<number>
  /** From which failure on a person is told. */
  readonly alertAfter: number
  /** How many run at once. */
  readonly concurrency: number
  readonly onProblem: (problem: Problem) => void
  readonly now: () => number
}

export interface Worker {
  /** Something may be due. */
  readonly wake: () => void
  /** Starts nothing more and resolves when what runs is over. */
  readonly close: () => Promise<void>
}

/** How long the store is left alone after it failed, in milliseconds. */
const storePause = 1_000

/** The longest that timers can be set to, in milliseconds. */
const longestTimer = 2 ** 31 - 1

export const makeWorker = <Tx>(settings: WorkSettings<Tx>): Worker => {
  const { alertAfter, concurrency, now, onProblem, retryDelaysMs, store, work } = settings
  const running = new Map<string, Promise<void>>()
  const state = { closed: false, again: false, looking: false }
  let timer: NodeJS.Timeout | undefined
  let search: Promise<void> = Promise.resolve()

  const failed = async ({ delivery, failures }: Waiting, cause: unknown): Promise<void> => {
    const delay = retryDelaysMs[failures]
    const count = failures + 1
    const severity = delay === undefined || count >= alertAfter ? "alert" : "warning"
    const kind = delay === undefined ? "work_given_up" : "work_failed"
    const next = delay === undefined ? "it is given up; do it by hand" : `again in ${delay} ms`
    const message = `work failed ${count} times: ${causeInWords(cause)}; ${next}`
    onProblem({ kind, severity, message, id: delivery.id, cause })
    await store.failed(delivery.id, causeInWords(cause), delay === undefined ? null : now() + delay)
  }

  const one = async (waiting: Waiting): Promise<void> => {
    try {
      await work(waiting.delivery)
    } catch (cause) {
      return failed(waiting, cause)
    }
    await store.done(waiting.delivery.id)
  }

  const storeFailed = (cause: unknown): void => {
    const message = `the store does not answer: ${causeInWords(cause)}; asking again in ${storePause} ms`
    onProblem({ kind: "work_failed", severity: "alert", message, id: null, cause })
    sleep(storePause)
  }

  const start = (waiting: Waiting): void => {
    const { id } = waiting.delivery
    const run = one(waiting)
      .catch(storeFailed)
      .finally(() => {
        running.delete(id)
        if (!state.closed && timer === undefined) look()
      })
    running.set(id, run)
  }

  const sleep = (milliseconds: number): void => {
    clearTimeout(timer)
    timer = setTimeout(
      () => {
        timer = undefined
        look()
      },
      Math.min(Math.max(milliseconds, 1), longestTimer)
    )
    // Work that waits must not keep a process from ending: it is on disk.
    timer.unref()
  }

  const startDue = async (): Promise<void> => {
    const free = concurrency - running.size
    if (free <= 0) return
    // What runs is still due in the store.
    const due = await store.due(now(), concurrency + running.size)
    const startable = due.filter(({ delivery }) => !running.has(delivery.id)).slice(0, free)
    if (state.closed) return
    for (const waiting of startable) start(waiting)
    if (running.size > 0) return
    const next = await store.nextDue()
    if (next !== null && !state.closed) sleep(next - now())
  }

  const look = (): void => {
    if (state.closed) return
    state.again = true
    if (state.looking) return
    state.looking = true
    clearTimeout(timer)
    timer = undefined
    search = (async () => {
      while (state.again && !state.closed) {
        state.again = false
        await startDue()
      }
    })()
      .catch(storeFailed)
      .finally(() => {
        state.looking = false
        // Woken after the last look and before this line.
        if (state.again && timer === undefined) look()
      })
  }

  return {
    wake: look,
    close: async () => {
      state.closed = true
      clearTimeout(timer)
      await search
      await Promise.all(running.values())
    }
  }
}
