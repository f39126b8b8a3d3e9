/**
 * Packs the published packages into a folder: `npm run pack -- FOLDER`.
 */
import { execFileSync } from "node:child_process"
import { published } from "./published.ts"

const [folder = "."] = process.argv.slice(2)
const places = published.map((place) => `./${place}`)
execFileSync("npm", ["pack", "--loglevel=error", "--pack-destination", folder, ...places], {
  cwd: new URL("..", import.meta.url).pathname,
  stdio: "inherit"
})
