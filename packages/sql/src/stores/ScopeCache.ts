/**
 * Integrations of buildings and tenants, cached for matching events.
 */
import type { BuildingId, Integration, Scope, TenantId, UnreadableIntegration } from "@doorhook/core"
import { isUnreadable, RecentMap } from "@doorhook/core"
import { Effect } from "effect"

/** Maximum number of cached scopes. */
const maxRemembered = 10_000

type Match = Integration | UnreadableIntegration

export interface Scopes {
  readonly buildings: ReadonlyArray<BuildingId>
  readonly tenants: ReadonlyArray<TenantId>
}

/** The integrations of one scope, and when they were read, by `performance.now()`. */
interface Entry {
  readonly matches: ReadonlyArray<Match>
  readonly at: number
}

const keyOf = ({ id, type }: Scope): string => `${type} ${id}`

export class ScopeCache {
  #entries = new RecentMap<string, Entry>(maxRemembered)

  /** Drops everything, also what is being read now. */
  forget(): void {
    this.#entries = new RecentMap(maxRemembered)
  }

  /** Returns the integrations of scopes in order of id. Reads the scopes that were not read since `oldest`. */
  find<E>(
    { buildings, tenants }: Scopes,
    oldest: number,
    read: (missing: Scopes) => Effect.Effect<ReadonlyArray<Match>, E>
  ): Effect.Effect<ReadonlyArray<Match>, E> {
    const entries = this.#entries
    const at = performance.now()
    const found: Array<Match> = []
    const missing: Array<string> = []
    const isMissing = (scope: Scope): boolean => {
      const key = keyOf(scope)
      const known = entries.get(key)
      if (known !== undefined && known.at >= oldest) {
        found.push(...known.matches)
        return false
      }
      missing.push(key)
      return true
    }
    const rest = {
      buildings: [...new Set(buildings)].filter((id) => isMissing({ type: "building", id })),
      tenants: [...new Set(tenants)].filter((id) => isMissing({ type: "tenant", id }))
    }
    const inOrder = (all: ReadonlyArray<Match>): ReadonlyArray<Match> => all.toSorted((a, b) => a.id - b.id)
    if (missing.length === 0) return Effect.succeed(inOrder(found))
    return Effect.map(read(rest), (matches) => {
      const byScope = Map.groupBy(matches, ({ scope }) => keyOf(scope))
      for (const key of missing) {
        const ofScope = byScope.get(key) ?? []
        // Unreadable integrations are not cached, because repairing one does not change its version.
        if (!ofScope.some(isUnreadable)) entries.set(key, { matches: ofScope, at })
      }
      return inOrder([...found, ...matches])
    })
  }
}
