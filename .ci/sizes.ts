/**
 * Prints the sizes of the packages as they would be published: `npm run sizes`, after `npm run build`.
 */
import { execFileSync } from "node:child_process"
import { published } from "./published.ts"

const root = new URL("..", import.meta.url).pathname

interface Packed {
  readonly name: string
  readonly size: number
  readonly unpackedSize: number
  readonly entryCount: number
}

const args = ["pack", "--dry-run", "--json", ...published.flatMap((place) => ["-w", place])]
const packed: ReadonlyArray<Packed> = JSON.parse(execFileSync("npm", args, { cwd: root, encoding: "utf8" }))
const kilobytes = (bytes: number): string => `${Math.round(bytes / 1_000)} kB`

for (const { entryCount, name, size, unpackedSize } of packed) {
  process.stdout.write(`${name}: ${kilobytes(size)}, unpacked ${kilobytes(unpackedSize)} in ${entryCount} files\n`)
}
