/**
 * All benchmarks, one per file in `benches`.
 */
import { readdirSync } from "node:fs"
import { basename } from "node:path"
import type { Benchmark } from "./Benchmark.ts"

const folder = new URL("../benches/", import.meta.url)

export const benchmarkNames: ReadonlyArray<string> = readdirSync(folder)
  .filter((file) => file.endsWith(".ts"))
  .map((file) => basename(file, ".ts"))
  .toSorted()

export const loadBenchmark = async (name: string): Promise<Benchmark> => {
  const module: { readonly benchmark: Benchmark } = await import(new URL(`${name}.ts`, folder).href)
  return module.benchmark
}
