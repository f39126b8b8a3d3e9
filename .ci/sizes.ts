/**
 * Writes how large the packages are into `docs/packages.md`: `npm run sizes`, after `npm run build`.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"

const root = new URL("..", import.meta.url).pathname
const places = [
  "packages/doorhook",
  "packages/core",
  "packages/sql",
  "packages/node",
  "packages/server",
  "simulator",
  "conformance"
]

interface Packed {
  readonly name: string
  readonly size: number
  readonly unpackedSize: number
  readonly entryCount: number
}

const args = ["pack", "--dry-run", "--json", ...places.flatMap((place) => ["-w", place])]
const packed: ReadonlyArray<Packed> = JSON.parse(execFileSync("npm", args, { cwd: root, encoding: "utf8" }))
const kilobytes = (bytes: number): string => `${Math.round(bytes / 1_000)} kB`

const rows = packed.map(
  ({ entryCount, name, size, unpackedSize }) =>
    `| \`${name}\` | ${kilobytes(size)} | ${kilobytes(unpackedSize)} | ${entryCount} |`
)
writeFileSync(
  new URL("../docs/packages.md", import.meta.url),
  `# Packages

ES modules with type declarations and their sources, tree-shakeable, without native builds. \`@doorhook/core\` depends on
\`effect\` alone and loads no module of Node.js; PostgreSQL's client is loaded only where a \`postgres://\` database is named. CommonJS
programs \`require\` them on Node.js 22.19 and later.

Tried as archives, in an empty folder, by \`node .ci/packed-install.ts 22 26\`: they install, compile under a stranger's strictest
settings, run as modules and by \`require\`, and the command serves and tests a receiver, on Node.js 22.23, 24.21 and 26.10.

The command is a bundle of our own modules (\`doorhook\`'s \`dist/bundle\`), beside the same modules as a library: it starts in a
third of the time. What others wrote is not in it, but in the versions that npm installs.

This table is written by \`npm run sizes\`.

| package | archive | unpacked | files |
|---|---|---|---|
${rows.join("\n")}
`
)
