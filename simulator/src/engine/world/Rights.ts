/**
 * The directory of the simulated host: who has a right to which place now.
 */
import type { Directory, Scope, UserId } from "@doorhook/core"
import { DirectoryError } from "@doorhook/core"
import { Effect } from "effect"
import type { History } from "../History.ts"
import type { Process } from "../time/Process.ts"
import type { VirtualTime } from "../time/VirtualTime.ts"
import type { Faults } from "./Faults.ts"
import type { Place } from "./Scenario.ts"

const keyOf = (user: UserId, scope: Scope): string => `${user} ${scope.type} ${scope.id}`

export class Rights {
  readonly #granted = new Set<string>()
  readonly #history: History

  constructor(places: ReadonlyArray<Place>, history: History) {
    this.#history = history
    for (const place of places) this.set(place, true)
  }

  has({ scope, user }: Place): boolean {
    return this.#granted.has(keyOf(user, scope))
  }

  set({ scope, user }: Place, granted: boolean): void {
    if (granted) this.#granted.add(keyOf(user, scope))
    else this.#granted.delete(keyOf(user, scope))
    this.#history.add({ kind: "right", user, scope, granted })
  }

  /** The directory as a process asks it. */
  directoryOf(process: Process, time: VirtualTime, faults: Faults): Directory["Service"] {
    const ask = <A>(operation: string, answer: () => A): Effect.Effect<A, DirectoryError> =>
      Effect.suspend(() => {
        const { answers, latency } = faults.directoryCall()
        const reply = answers
          ? Effect.sync(answer)
          : Effect.fail(new DirectoryError({ operation, cause: new Error("simulated") }))
        return latency === 0 ? reply : Effect.andThen(process.wait(time, latency), reply)
      })
    return {
      client: () => Effect.succeed(null),
      authenticate: () => Effect.succeed(null),
      isActive: () => ask("isActive", () => true),
      administers: (user, id) => ask("administers", () => this.has({ user, scope: { type: "building", id } })),
      isTenant: (user, id) => ask("isTenant", () => this.has({ user, scope: { type: "tenant", id } })),
      buildings: () => Effect.succeed([]),
      tenants: () => Effect.succeed([])
    }
  }
}
