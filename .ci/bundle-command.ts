/**
 * Joins what `tsc -b` made of the command and of our packages under it into a few files: most of a start was finding and
 * opening seven hundred of them. What others wrote stays outside, in the versions that npm installs.
 *
 *     node .ci/bundle-command.ts
 */
import { build } from "rolldown"

const root = new URL("..", import.meta.url).pathname

/** Named by a path or as one of our packages, or a helper that the bundler itself puts in. */
const isOurs = (id: string): boolean => /^([./]|@doorhook\/|@oxc-project\/)/.test(id)

await build({
  cwd: root,
  input: { main: "packages/doorhook/dist/command/main.js" },
  platform: "node",
  external: (id) => !isOurs(id),
  logLevel: "warn",
  output: { dir: "packages/doorhook/dist/bundle", cleanDir: true, format: "es", chunkFileNames: "[name]-[hash].js" }
})
