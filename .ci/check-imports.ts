/**
 * Checks the imports between packages and between folders, that core imports only Effect, and that the folders of a
 * package have no circular imports.
 *
 * Apart from doorhook's packages, a package may import only the dependencies in its own package.json. The command may
 * also import development dependencies, because everything it imports is bundled. No import may be for side effects
 * only: because of `"sideEffects": false` in each package.json, bundlers drop such imports, also when doorhook's own
 * command is bundled.
 */
import { globSync, readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { relative, sep } from "node:path"

const root = new URL("..", import.meta.url).pathname

/** Folder of each package, with the packages of doorhook that it may import. */
const arrows: Readonly<Record<string, ReadonlyArray<string>>> = {
  "packages/core": [],
  "packages/sql": ["@doorhook/core"],
  "packages/node": ["@doorhook/core"],
  "packages/server": ["@doorhook/core"],
  "packages/receiver": [],
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
    "@doorhook/simulator",
    "@doorhook/conformance"
  ]
}

/** Folders of core, each with the folders it may import. */
const coreLayers: Readonly<Record<string, ReadonlyArray<string>>> = {
  text: ["text"],
  model: ["model"],
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

/** An import of one folder from another of the same package. */
interface Crossing {
  readonly from: string
  readonly to: string
  readonly shown: string
}

/**
 * Returns the folder directly below `src` that contains a file; null for files in `src` itself, which may import all
 * folders.
 */
const folderOf = (place: string): string | null => /\/src\/([^/]+)\//.exec(place)?.[1] ?? null

/** Returns the imports that are part of a cycle. */
const circular = (crossings: ReadonlyArray<Crossing>): ReadonlyArray<Crossing> => {
  const leadsTo = (from: string, goal: string, seen: Set<string>): boolean =>
    crossings.some(
      (crossing) =>
        crossing.from === from &&
        (crossing.to === goal || (!seen.has(crossing.to) && leadsTo(crossing.to, goal, seen.add(crossing.to))))
    )
  return crossings.filter(({ from, to }) => leadsTo(to, from, new Set([to])))
}

for (const [folder, allowed] of Object.entries(arrows)) {
  const declared = dependenciesOf(folder, installed)
  const joined = dependenciesOf(folder, [...installed, "devDependencies"])
  const crossings: Array<Crossing> = []
  for (const path of globSync(`${root}${folder}/src/**/*.ts`)) {
    const place = relative(root, path)
    const text = readFileSync(path, "utf8")
    for (const [, specifier] of text.matchAll(/^import "([^"]+)"/gm)) {
      problems.push(
        `${place} imports ${specifier} for its side effects, which bundlers drop: call one of its functions instead`
      )
    }
    for (const specifier of importsOf(text)) {
      if (specifier.startsWith(".")) {
        if (folder === "packages/core") checkLayer(place, specifier)
        const [from, to] = [folderOf(place), folderOf(new URL(specifier, `file:///${place}`).pathname)]
        if (from !== null && to !== null && from !== to) {
          crossings.push({ from, to, shown: `${place} imports ${specifier}` })
        }
        continue
      }
      const name = packageNameOf(specifier)
      const isBuiltin = specifier.startsWith("node:") || builtinModules.includes(name)
      if (folder === "packages/core" && name !== "effect") {
        problems.push(`${place} imports ${specifier}: core may only depend on effect`)
      } else if (name.startsWith("@doorhook/") || name === "doorhook") {
        if (!allowed.includes(name))
          problems.push(`${place} imports ${specifier}: not allowed, see .ci/check-imports.ts`)
      } else if (!isBuiltin && !(place.startsWith(command) ? joined : declared).has(name)) {
        problems.push(`${place} imports ${specifier}: not declared in ${folder}/package.json`)
      }
    }
  }
  for (const { from, shown, to } of circular(crossings))
    problems.push(`${shown}: circular, because ${to} imports ${from}`)
}

function checkLayer(place: string, specifier: string): void {
  const [, , , layer, ...inner] = place.split(sep)
  if (layer === undefined || inner.length === 0) return
  const target = new URL(specifier, `file:///${place}`).pathname.split("/")[4] ?? ""
  const allowed = coreLayers[layer] ?? []
  if (!allowed.includes(target)) problems.push(`${place} imports ${specifier}: ${layer} may not import ${target}`)
}

if (problems.length > 0) {
  process.stderr.write(`${problems.join("\n")}\n`)
  process.exitCode = 1
}
