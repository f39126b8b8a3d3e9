/**
 * Profiles this process with V8's sampling profiler, and prints tables of functions.
 */
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { Session } from "node:inspector/promises"
import type { Profiler } from "node:inspector"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** Returns a function's name and position, relative to the project's folder for files inside it. */
const nameOf = ({ callFrame }: Profiler.ProfileNode): string => {
  const { functionName, lineNumber, url } = callFrame
  if (url === "") return functionName
  const path = url.startsWith("file:") ? fileURLToPath(url) : url
  const place = path.startsWith(root) ? path.slice(root.length) : path
  return `${functionName === "" ? "(anonymous)" : functionName}  ${place}:${lineNumber + 1}`
}

/** Returns the part of the program that contains a function: one of our packages, a dependency, or Node.js itself. */
const partOf = (name: string): string => {
  const place = name.split("  ")[1]
  if (place === undefined) return name
  const [, modules] = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(place) ?? []
  if (modules !== undefined) return modules
  return place.startsWith("node:") ? "node" : place.split("/").slice(0, 2).join("/")
}

const tableOf = (title: string, times: ReadonlyMap<string, number>, total: number, most: number): string => {
  const rows = [...times].toSorted(([, a], [, b]) => b - a).slice(0, most)
  return [title, ...rows.map(([name, time]) => `${((100 * time) / total).toFixed(1).padStart(6)} %  ${name}`)].join(
    "\n"
  )
}

/** Whether a function is part of the profiler itself, which the tables leave out. */
const isProfiler = (name: string): boolean => name.includes("node:inspector")

/** Adds up the times of functions including their callees. Recursive calls count only once. */
const addWithCallees = (
  profile: Profiler.Profile,
  selfTimes: ReadonlyMap<number, number>,
  names: ReadonlyMap<number, string>
): ReadonlyMap<string, number> => {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const totals = new Map<string, number>()
  const visit = (id: number, above: ReadonlySet<string>): number => {
    const name = names.get(id) ?? ""
    const inside = new Set(above).add(name)
    const callees = nodes.get(id)?.children ?? []
    const total = callees.reduce((sum, child) => sum + visit(child, inside), selfTimes.get(id) ?? 0)
    if (!above.has(name)) totals.set(name, (totals.get(name) ?? 0) + total)
    return total
  }
  const [first] = profile.nodes
  if (first !== undefined) visit(first.id, new Set())
  return new Map([...totals].filter(([name]) => name.includes("  packages/")))
}

const describe = (profile: Profiler.Profile): string => {
  const { nodes, samples = [], timeDeltas = [] } = profile
  const names = new Map(nodes.map((node) => [node.id, nameOf(node)]))
  const selfTimes = new Map<number, number>()
  const functions = new Map<string, number>()
  const parts = new Map<string, number>()
  let total = 0
  const add = <K>(times: Map<K, number>, key: K, time: number) => times.set(key, (times.get(key) ?? 0) + time)
  samples.forEach((id, index) => {
    const name = names.get(id) ?? "(unknown)"
    const time = timeDeltas[index] ?? 0
    if (isProfiler(name)) return
    total += time
    add(selfTimes, id, time)
    add(functions, name, time)
    add(parts, partOf(name), time)
  })
  return [
    tableOf("share of time by part of the program", parts, total, 25),
    tableOf("by function", functions, total, 40),
    tableOf("by doorhook function, including its callees", addWithCallees(profile, selfTimes, names), total, 50)
  ].join("\n\n")
}

/** Runs an effect under the profiler, prints the tables, and saves the profile for a browser's developer tools. */
export const profiled =
  (name: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.acquireUseRelease(
      Effect.promise(async () => {
        const session = new Session()
        session.connect()
        await session.post("Profiler.enable")
        await session.post("Profiler.setSamplingInterval", { interval: 200 })
        await session.post("Profiler.start")
        return session
      }),
      () => effect,
      (session) =>
        Effect.promise(async () => {
          const { profile } = await session.post("Profiler.stop")
          session.disconnect()
          const file = join(tmpdir(), `doorhook-bench-${name}.cpuprofile`)
          writeFileSync(file, JSON.stringify(profile))
          process.stderr.write(`${describe(profile)}\n\nThe whole profile, for a browser's developer tools: ${file}\n`)
        })
    )
