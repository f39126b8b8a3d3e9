/**
 * What whoever runs the host is told of their directory when a request shows it. Once for each thing in a process: anybody
 * can send such requests, and must not be able to fill the log.
 */
import { Effect } from "effect"
import { RecentMap } from "../../domain/RecentMap.ts"
import type { Directory } from "../../ports/Directory.ts"

/** The most things that are remembered of one directory; the oldest are forgotten first. */
const capacity = 1_000

const told = new WeakMap<Directory["Service"], RecentMap<string, true>>()

/** Warns, unless that was said of the directory before. */
export const warnOnce = (directory: Directory["Service"], warning: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const known = told.get(directory) ?? new RecentMap<string, true>(capacity)
    told.set(directory, known)
    if (known.get(warning) === true) return Effect.void
    known.set(warning, true)
    return Effect.logWarning(`${warning} This is logged once.`)
  })
