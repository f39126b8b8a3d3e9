/**
 * Finds clients, which the host's directory knows or which are registered with the service.
 */
import { Effect, Option } from "effect"
import type { KnownClient } from "../model/Client.ts"
import { parseClientId } from "../model/Ids.ts"
import { RecentMap } from "../model/RecentMap.ts"
import type { ClientStore } from "./ClientStore.ts"
import type { Directory, DirectoryError } from "./Directory.ts"
import type { StoreError } from "./StoreError.ts"

type Asked<A> = Effect.Effect<A, StoreError | DirectoryError>

const otherClient =
  "The directory's `client` must return the client with exactly the requested id, letter by letter. It returned another client, which is ignored: the requested client counts as unknown to the directory."

/** Finds clients of the host, clients registered with the service, and clients that are not registered. */
export const makeFindClient =
  (
    directory: Directory["Service"],
    store: ClientStore["Service"],
    unregistered: (id: string) => KnownClient | null = () => null
  ) =>
  (text: string): Asked<KnownClient | null> => {
    const id = Option.getOrNull(parseClientId(text))
    if (id === null) return Effect.succeed(null)
    const stored = (): Asked<KnownClient | null> =>
      Effect.mapEager(store.find(id), (registered) => registered ?? unregistered(id))
    return Effect.flatMapEager(directory.client(id), (own): Asked<KnownClient | null> => {
      if (own === null) return stored()
      if (own.id === id) return Effect.succeed(own)
      // With another spelling of the id, wrong secrets would be counted separately, and tokens would belong to no
      // client.
      return Effect.andThen(warnOnce(directory, otherClient), Effect.suspend(stored))
    })
  }

/** Maximum number of warnings remembered per directory. The oldest warnings are forgotten first. */
const maxWarnings = 1_000

const warned = new WeakMap<Directory["Service"], RecentMap<string, true>>()

/** Logs a warning once per process, so that requests that trigger it can't fill the log. */
export const warnOnce = (directory: Directory["Service"], warning: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const known = warned.get(directory) ?? new RecentMap<string, true>(maxWarnings)
    warned.set(directory, known)
    if (known.get(warning) === true) return Effect.void
    known.set(warning, true)
    return Effect.logWarning(`${warning} This is logged once.`)
  })
