/**
 * Measures the size of an installation.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import type { Benchmark } from "../harness/Benchmark.ts"
import { root, runScript } from "../harness/ServerProcess.ts"
import { rounded } from "../harness/Statistics.ts"

const name = "install"

const megabytes = (folder: string): number =>
  (Number(/^\d+/.exec(execFileSync("du", ["-sk", folder], { encoding: "utf8" }))?.[0]) * 1_024) / 1_000_000

/** Runs `npm install` for these dependencies in an empty project, and measures the result. */
const install = Effect.fnUntraced(function* (
  dependencies: Readonly<Record<string, string>>,
  overrides: Readonly<Record<string, string>>
) {
  const project = yield* temporaryFolder
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, dependencies, overrides }))
  // Works without a registry if the packages are in npm's cache.
  execFileSync("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: project,
    stdio: ["ignore", process.stderr, process.stderr]
  })
  const modules = join(project, "node_modules")
  const { packages }: { readonly packages: object } = JSON.parse(
    readFileSync(join(modules, ".package-lock.json"), "utf8")
  )
  return {
    all: megabytes(modules),
    own: globSync(["doorhook", "@doorhook"], { cwd: modules }).reduce(
      (sum, own) => sum + megabytes(join(modules, own)),
      0
    ),
    packages: Object.keys(packages).length
  }
}, Effect.scoped)

/** Runs `npm run pack`. Returns the archives by package name. */
const packInto = (folder: string): Readonly<Record<string, string>> => {
  mkdirSync(folder)
  runScript("pack", folder)
  return Object.fromEntries(
    globSync(join(folder, "*.tgz")).map((archive) => {
      const packed = /^(.+?)-\d/.exec(basename(archive))?.[1] ?? ""
      return [packed.replace(/^doorhook-/, "@doorhook/"), `file:${archive}`]
    })
  )
}

const run = Effect.fnUntraced(function* () {
  const { doorhook = "", ...others } = packInto(join(yield* temporaryFolder, "archives"))
  const manifest: { readonly dependencies: { readonly effect: string } } = JSON.parse(
    readFileSync(join(root, "packages/doorhook/package.json"), "utf8")
  )
  const { effect } = manifest.dependencies
  // The overrides map the names of packages to the archives. npm installs only those that `doorhook` depends on, as it
  // would from a registry.
  const ours = yield* install({ doorhook }, others)
  const peer = yield* install({ effect }, {})
  const more = { packages: ours.packages, of_doorhook_mb: rounded(ours.own), peer_packages: peer.packages }
  return [{ line: name, ours: [ours.all], peer: [peer.all], more }]
})

export const benchmark: Benchmark = {
  name,
  minutes: 1,
  summary: "megabytes on disk after `npm install doorhook` in an empty project, against `effect` alone",
  compares:
    "`npm install` of the packed archives with their dependencies in an empty project, against `npm install` of `effect` alone. The size is that of `node_modules` on disk, as `du` reports it.",
  leavesOut: "Duration and network traffic of an installation.",
  lines: {
    [name]: { ours: "MB of doorhook", peer: "MB of effect", unit: "MB", goal: { is: "at most", ratio: 1.3 } }
  },
  run
}
