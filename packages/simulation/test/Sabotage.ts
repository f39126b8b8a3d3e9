/** Deliberate faults in the sources of the engine, each with the check that must detect it. */
export interface Sabotage {
  /** A file below `packages/core/src`. */
  readonly file: string
  /** Text that occurs once in the file, and its replacement. */
  readonly replaces: readonly [string, string]
  /** The check that must fail. */
  readonly check: string
  /** The first seed that shows the fault. */
  readonly seed: number
}

export const sabotages: Readonly<Record<string, Sabotage>> = {
  "an outcome is accepted under a lost lease": {
    file: "delivery/Transitions.ts",
    replaces: ["standing.worker === worker && (attempt", "(attempt"],
    check: "leases",
    seed: 28
  },
  "outcomes are dropped when the store fails": {
    file: "delivery/RecordQueue.ts",
    replaces: ["for (const part of parts) this.#aside", "for (const part of parts.slice(1)) this.#aside"],
    check: "attempt-numbers",
    seed: 5
  },
  "outcomes that another transaction holds are dropped": {
    file: "delivery/RecordQueue.ts",
    replaces: [
      "const outcomes = batch.outcomes.filter(({ delivery }) => locked.has(delivery.id))",
      "const outcomes: Array<Outcome> = []"
    ],
    check: "attempt-numbers",
    seed: 1
  },
  "a resend during an attempt is forgotten": {
    file: "delivery/Transitions.ts",
    replaces: ["if (standing.resend === 2) return { ...made", "if (Number(standing.resend) === 3) return { ...made"],
    check: "nothing-lost",
    seed: 24
  },
  "a delivery that is cancelled during its attempt ends as delivered": {
    file: "delivery/Transitions.ts",
    replaces: [
      'if (standing.state !== "delivering") return { ...standing, attempts',
      "if (false) return { ...standing, attempts"
    ],
    check: "stays-cancelled",
    seed: 5
  },
  "a call is sent although it has ended": {
    file: "memory/MemoryDeliveryStore.ts",
    replaces: ['deliveries.cancelEvent(id, "call_ended")', "void id"],
    check: "stays-cancelled",
    seed: 1
  },
  "a process ignores that it has ended a call": {
    file: "delivery/Dispatcher.ts",
    replaces: ["this.#state.endCalls(endedCalls)", "void endedCalls"],
    check: "nothing-after-end",
    seed: 4
  },
  "a retry has the delay of the attempt before": {
    file: "model/RetryPolicy.ts",
    replaces: ["policy.delays[input.failed - 1]", "policy.delays[Math.max(0, input.failed - 2)]"],
    check: "retry-times",
    seed: 1
  },
  "Retry-After is ignored": {
    file: "model/RetryPolicy.ts",
    replaces: ["Math.min(input.retryAfter ?? 0, maxRetryAfter)", "0"],
    check: "retry-times",
    seed: 3
  },
  "calls are sent up to a minute after their lifetime": {
    file: "delivery/Sender.ts",
    replaces: ["event.created_at, at)\n  }", "event.created_at, at - 60_000)\n  }"],
    check: "call-lifetime",
    seed: 29
  },
  "the sender takes access logs before calls": {
    file: "delivery/FairQueue.ts",
    replaces: [
      "for (const lane of lanes) {\n      if (which",
      "for (const lane of [2, 0, 1, 3] as const) {\n      if (which"
    ],
    check: "calls-first",
    seed: 2
  },
  "attempts begin that can outlast the membership": {
    file: "delivery/Membership.ts",
    replaces: ["this.#until >= now + this.#attempt", "this.#until >= now"],
    check: "leases",
    seed: 114
  },
  "workers use their own clocks": {
    file: "ports/StoreClock.ts",
    replaces: ["Math.floor(this.#timeAt(this.#steady()))", "Math.floor(this.#wall())"],
    check: "clocks",
    seed: 1
  },
  "a worker asks only once for each right": {
    file: "delivery/AccessCheck.ts",
    replaces: ["known.turn === this.#turn && ", ""],
    check: "nothing-after-end",
    seed: 5
  },
  "a worker ignores its own changes of integrations": {
    file: "delivery/Dispatcher.ts",
    replaces: ["this.#worker.forget([integration])", "void integration"],
    check: "nothing-after-end",
    seed: 23
  },
  "a worker ignores the changes by others": {
    file: "delivery/Dispatcher.ts",
    replaces: ["else this.#worker.forget(ids)", "else void ids"],
    check: "nothing-after-end",
    seed: 1
  },
  "a worker ignores that changes may have been lost": {
    file: "delivery/Dispatcher.ts",
    replaces: ["if (ids === null) this.#worker.forgetAll()", "if (ids === null) void ids"],
    check: "nothing-after-end",
    seed: 45
  },
  "the store hands out access logs before calls": {
    file: "memory/MemoryDeliveryStore.ts",
    replaces: [
      "for (const lane of lanes) {\n    let heads",
      "for (const lane of [2, 0, 1, 3] as const) {\n    let heads"
    ],
    check: "calls-first",
    seed: 1
  },
  "changes during an attempt's preparation are ignored": {
    file: "delivery/Worker.ts",
    replaces: ["this.#latestOfAll > since || (", "false && ("],
    check: "nothing-after-end",
    seed: 1
  }
}
