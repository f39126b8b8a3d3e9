/**
 * Checks the imports between packages and between folders, that core imports only Effect, and that the folders of a
 * package have no circular imports. Circles of files are found by the lint rule `import/no-cycle`.
 *
 * Apart from doorhook's packages, a package may import only the dependencies in its own package.json. The command may
 * also import development dependencies, because everything it imports is bundled. No import may be for side effects
 * only: because of `"sideEffects": false` in each package.json, bundlers drop such imports, also when doorhook's own
 * command is bundled.
 */
import { globSync, readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { relative } from "node:path"

const root = new URL("..", import.meta.url).pathname

/** Folder of each package, with the packages of doorhook that it may import. */
const arrows: Readonly<Record<string, ReadonlyArray<string>>> = {
  "packages/core": [],
  "packages/sql": ["@doorhook/core"],
  "packages/node": ["@doorhook/core"],
  "packages/server": ["@doorhook/core"],
  "packages/receiver": [],
  "packages/mcp": ["@doorhook/core", "@doorhook/server"],
  simulator: ["@doorhook/core"],
  conformance: ["@doorhook/core"],
  "packages/testkit": ["@doorhook/core"],
  "packages/bench": [
    "@doorhook/core",
    "@doorhook/node",
    "@doorhook/sql",
    "@doorhook/simulator",
    "@doorhook/testkit",
    "doorhook"
  ],
  "packages/simulation": ["@doorhook/core", "@doorhook/sql", "@doorhook/simulator", "@doorhook/testkit"],
  "packages/doorhook": [
    "@doorhook/core",
    "@doorhook/sql",
    "@doorhook/node",
    "@doorhook/server",
    "@doorhook/mcp",
    "@doorhook/simulator",
    "@doorhook/conformance"
  ]
}

/** Folders of core, each with the folders it may import. */
const coreLayers: Readonly<Record<string, ReadonlyArray<string>>> = {
  text: [],
  model: [],
  ports: ["ports", "model"],
  delivery: ["delivery", "ports", "model"],
  publish: ["publish", "delivery", "ports", "model"],
  integrations: ["integrations", "publish", "delivery", "ports", "model"],
  oauth: ["oauth", "ports", "model"],
  memory: ["memory", "delivery", "ports", "model"],
  testing: ["testing", "memory", "integrations", "publish", "delivery", "ports", "model"]
}

const packageNameOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

const importsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^(?:import|export)\s(?:[^"';]*?\sfrom\s)?"([^"]+)"|\bimport\("([^"]+)"\)/gm)].flatMap(
    (match) => match[1] ?? match[2] ?? []
  )

const dependenciesOf = (folder: string, kinds: ReadonlyArray<string>): ReadonlySet<string> => {
  const manifest: Record<string, Record<string, string> | undefined> = JSON.parse(
    readFileSync(`${root}${folder}/package.json`, "utf8")
  )
  return new Set(kinds.flatMap((key) => Object.keys(manifest[key] ?? {})))
}

/** Fields of package.json that list the packages installed with a package. */
const installed = ["dependencies", "peerDependencies", "optionalDependencies"]

/** Folder of the command, which `.ci/bundle-command.ts` bundles with everything it imports. */
const command = "packages/doorhook/src/command/"

const problems: Array<string> = []

/** Returns the folder directly below `src` that contains a file; null for files in `src` itself. */
const folderOf = (place: string): string | null => /\/src\/([^/]+)\//.exec(place)?.[1] ?? null

/** Folders that a folder imports, each with an import as an example. */
type Crossings = Map<string, Map<string, string>>

/** Whether imports lead from a folder to a goal. */
const leadsTo = (crossings: Crossings, from: string, goal: string, seen = new Set<string>()): boolean =>
  [...(crossings.get(from)?.keys() ?? [])].some(
    (to) => to === goal || (!seen.has(to) && leadsTo(crossings, to, goal, seen.add(to)))
  )

for (const [folder, allowed] of Object.entries(arrows)) {
  const declared = dependenciesOf(folder, installed)
  const joined = dependenciesOf(folder, [...installed, "devDependencies"])
  const crossings: Crossings = new Map()
  for (const path of globSync(`${root}${folder}/src/**/*.ts`)) {
    const place = relative(root, path)
    const text = readFileSync(path, "utf8")
    const complain = (specifier: string, why: string): void =>
      void problems.push(`${place} imports ${specifier}: ${why}`)
    for (const [, specifier = ""] of text.matchAll(/^import "([^"]+)"/gm)) {
      complain(specifier, "bundlers drop imports for side effects only; call one of its functions instead")
    }
    for (const specifier of importsOf(text)) {
      const name = packageNameOf(specifier)
      if (specifier.startsWith(".")) {
        const [from, to] = [folderOf(place), folderOf(new URL(specifier, `file:///${place}`).pathname)]
        // Files in `src` itself may import all folders.
        if (from === null || to === from) continue
        if (folder === "packages/core" && !(to !== null && coreLayers[from]?.includes(to))) {
          complain(specifier, `${from} may not import ${to ?? "a file in src"}`)
        }
        if (to !== null) {
          crossings.set(
            from,
            (crossings.get(from) ?? new Map<string, string>()).set(to, `${place} imports ${specifier}`)
          )
        }
      } else if (folder === "packages/core") {
        if (name !== "effect") complain(specifier, "core may only depend on effect")
      } else if (/^@?doorhook(?:\/|$)/.test(name)) {
        if (!allowed.includes(name)) complain(specifier, "not allowed, see .ci/check-imports.ts")
      } else if (!specifier.startsWith("node:") && !builtinModules.includes(name)) {
        const known = place.startsWith(command) ? joined : declared
        if (!known.has(name)) complain(specifier, `not declared in ${folder}/package.json`)
      }
    }
  }
  for (const [from, targets] of crossings) {
    for (const [to, shown] of targets) {
      if (leadsTo(crossings, to, from)) problems.push(`${shown}: circular, because ${to} leads back to ${from}`)
    }
  }
}

if (problems.length > 0) {
  process.stderr.write(`${problems.join("\n")}\n`)
  process.exitCode = 1
}
