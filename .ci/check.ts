/**
 * Everything static: types, lint, format, Effect's own diagnostics, the arrows between packages, what is published, the code in the
 * documentation.
 *
 * Runs every check even when one fails, so that one run shows all there is to mend.
 */
import { spawnSync } from "node:child_process"
import { published } from "./published.ts"

const checks: ReadonlyArray<readonly [name: string, command: string, ...args: ReadonlyArray<string>]> = [
  ["types", "tsc", "-p", ".ci/tsconfig.json"],
  ["page script types", "tsc", "-p", "packages/server/src/ui/static"],
  ["effect", "effect-tsgo", "diagnostics", "--project", ".ci/tsconfig.json"],
  ["lint", "oxlint", "-c", ".oxlintrc.json", "--type-aware", "--deny-warnings"],
  ["format", "oxfmt", "--config", ".oxfmtrc.json", "--check", "."],
  ["imports", "node", ".ci/check-imports.ts"],
  ["build", "npm", "run", "--silent", "build"],
  ["comments", "node", ".ci/check-comments.ts"],
  ...published.map((place) => [`package ${place}`, "publint", "--strict", "--pack", "false", place] as const),
  ["unused", "knip", "-c", ".ci/knip.json", "--no-progress", "--no-config-hints"],
  ["docs", "node", ".ci/check-docs.ts"]
]

if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
  process.stdout.write(
    `npm run check runs all of these, and fails when one does: ${checks.map(([name]) => name).join(", ")}\n`
  )
  process.exit(0)
}

const failed = checks.filter(([name, command, ...args]) => {
  const run = spawnSync(command, args, { encoding: "utf8", shell: false })
  const ok = run.status === 0
  process.stdout.write(`${ok ? "ok  " : "FAIL"} ${name}\n`)
  if (!ok) process.stdout.write(`${run.stdout ?? ""}${run.stderr ?? ""}${run.error?.message ?? ""}\n`)
  return !ok
})

if (failed.length > 0) process.exitCode = 1
