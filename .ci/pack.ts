/**
 * Packs the published packages into a folder, by default `dist/packed`, which Git ignores: `npm run pack -- FOLDER`. The
 * suite as a single file and its Dockerfile are put beside them.
 */
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { published } from "./published.ts"

const [folder = "dist/packed"] = process.argv.slice(2)
const places = published.map((place) => `./${place}`)
const cwd = new URL("..", import.meta.url).pathname
mkdirSync(resolve(cwd, folder), { recursive: true })
execFileSync("npm", ["pack", "--loglevel=error", "--pack-destination", folder, ...places], {
  cwd,
  stdio: "inherit"
})

for (const file of ["dist/doorhook-conformance.cjs", "Dockerfile"]) {
  copyFileSync(join(cwd, "conformance", file), join(resolve(cwd, folder), file.replace("dist/", "")))
}
