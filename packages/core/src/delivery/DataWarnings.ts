/**
 * Logs data that does not fit the schema of its type: data that is published under `check: "warn"`, and data that was
 * published in SQL, where the database has stored it before doorhook sees it.
 */
import { Effect } from "effect"
import type { NewEvent } from "../model/Event.ts"
import { InvalidInput } from "../model/InvalidInput.ts"
import type { ResourceTypeTable } from "../model/ResourceType.ts"

/** Maximum number of different problems that are logged. */
const mostLogged = 1_000

export class DataWarnings {
  readonly #types: ResourceTypeTable
  readonly #run: (line: Effect.Effect<void>) => unknown
  readonly #logged = new Set<string>()

  constructor(types: ResourceTypeTable, run: (line: Effect.Effect<void>) => unknown) {
    this.#types = types
    this.#run = run
  }

  /** Logs each problem of an event's data, unless the same problem of another event of the type was logged. */
  note({ data, resource_type }: Pick<NewEvent, "data" | "resource_type">): void {
    const check = this.#types.get(resource_type)?.check
    if (check === undefined) return
    const fresh = check.problemsIn(data).flatMap(({ detail, pointer }) => {
      const key = `${resource_type} ${pointer} ${detail}`
      if (this.#logged.has(key) || this.#logged.size >= mostLogged) return []
      this.#logged.add(key)
      return [{ pointer: `/data${pointer}`, detail }]
    })
    const unfit = InvalidInput.of("Data does not fit", fresh)
    if (unfit === null) return
    this.#run(
      Effect.logWarning(
        `An event of type ${resource_type} does not fit the schema of its type, and is sent nevertheless: ${unfit.message}. The same is not logged again.`
      )
    )
  }
}
