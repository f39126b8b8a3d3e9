/**
 * The program `doorhook` with what separately installed packages add.
 */
import { Effect, Predicate } from "effect"
import { makeDoorhook } from "./doorhook.ts"
import type { Extensions } from "./extensions.ts"
import { endpoint, placeholders, simulator, suite } from "./extensions.ts"
import { runMain } from "./Process.ts"

/** Whether an import failed because this package itself is missing, rather than one of its dependencies. */
const isMissing = (error: unknown, name: string): boolean =>
  Predicate.isError(error) &&
  Predicate.hasProperty(error, "code") &&
  error.code === "ERR_MODULE_NOT_FOUND" &&
  error.message.includes(`'${name}'`)

const loaded = async <A, B>(name: string, load: () => Promise<A>, otherwise: B): Promise<A | B> => {
  try {
    return await load()
  } catch (error) {
    if (isMissing(error, name)) return otherwise
    throw error
  }
}

export const loadExtensions = async (): Promise<Extensions> => ({
  simulate: await loaded(
    simulator.package,
    async () => (await import("./simulate.ts")).simulateCommand,
    placeholders.simulate
  ),
  conformance: await loaded(
    suite.package,
    async () => (await import("@doorhook/conformance")).conformanceCommand,
    placeholders.conformance
  ),
  // Loaded only when it is served.
  mcp: Effect.promise(() =>
    loaded(
      endpoint.package,
      async () => {
        const { mcp } = await import("@doorhook/mcp")
        return Effect.sync(() => mcp())
      },
      placeholders.mcp
    )
  ).pipe(Effect.flatten)
})

/** Drops the arguments after the name of a command that is not installed, because they can't be parsed. */
const upToPlaceholder = (given: ReadonlyArray<string>, extensions: Extensions): ReadonlyArray<string> => {
  const end = given.findIndex(
    (argument) =>
      (argument === simulator.name && extensions.simulate === placeholders.simulate) ||
      (argument === suite.name && extensions.conformance === placeholders.conformance)
  )
  const before = given.slice(0, end)
  const isFlagOrValue = (argument: string, at: number): boolean =>
    argument.startsWith("-") || (before[at - 1]?.startsWith("-") ?? false)
  return end !== -1 && before.every(isFlagOrValue) ? given.slice(0, end + 1) : given
}

export const runExtended = async (given: ReadonlyArray<string>): Promise<void> => {
  const extensions = await loadExtensions()
  runMain(makeDoorhook(extensions), upToPlaceholder(given, extensions))
}
