/**
 * Deliberate faults in the engine's sources, each detected by the check of the promise that it breaks: a random sample of
 * them in each run, all with `DOORHOOK_WHOLE=1`.
 */
import { sample } from "@doorhook/testkit/Sample"
import { assert, describe, it } from "@effect/vitest"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "rolldown"
import { simulate } from "../src/Actors.ts"
import { judge } from "../src/checks/Checks.ts"
import { sabotages } from "./Sabotage.ts"
import type { Sabotage } from "./Sabotage.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))

/** Bundles the simulation from sources with a fault, and loads it into this process. */
const sabotaged = async ({ file, replaces: [before, after] }: Sabotage, place: number): Promise<typeof simulate> => {
  const bundle = `${root}node_modules/.cache/sabotages/${place}.js`
  let places = 0
  await build({
    cwd: root,
    input: "packages/simulation/src/Actors.ts",
    platform: "node",
    external: /^effect\b/,
    resolve: { conditionNames: ["source", "node", "import", "default"] },
    logLevel: "warn",
    plugins: [
      {
        name: "sabotage",
        transform: (code, id) => {
          if (!id.endsWith(`/core/src/${file}`)) return null
          const parts = code.split(before)
          places += parts.length - 1
          return parts.join(after)
        }
      }
    ],
    output: { file: bundle, format: "es", codeSplitting: false }
  })
  assert.strictEqual(places, 1, `places of ${JSON.stringify(before)} in ${file}`)
  const loaded: { readonly simulate: typeof simulate } = await import(pathToFileURL(bundle).href)
  return loaded.simulate
}

describe("the simulation detects that", () => {
  const numbered = Object.entries(sabotages).map(([fault, sabotage], place) => ({ fault, sabotage, place }))
  it.each(sample(numbered, 8))("$fault", async ({ place, sabotage }) => {
    const { check, seed } = sabotage
    const broken = await sabotaged(sabotage, place)
    const found = judge(broken(seed)).map(({ check: { name } }) => name)
    assert.include(found, check)
    assert.deepStrictEqual(judge(simulate(seed)), [])
  })
})
