/**
 * Everything static: types, lint, format, Effect's own diagnostics, the arrows between packages.
 *
 * Runs every check even when one fails, so that one run shows all there is to mend.
 */
import { spawnSync } from "node:child_process"

const checks: ReadonlyArray<readonly [name: string, command: string, ...args: ReadonlyArray<string>]> = [
  ["types", "tsc", "-p", ".ci/tsconfig.json"],
  ["effect", "effect-tsgo", "diagnostics", "--project", ".ci/tsconfig.json"],
  ["lint", "oxlint", "-c", ".oxlintrc.json", "--type-aware", "--deny-warnings"],
  ["format", "oxfmt", "--config", ".oxfmtrc.json", "--check", "."],
  ["imports", "node", ".ci/check-imports.ts"]
]

const failed = checks.filter(([name, command, ...args]) => {
  const run = spawnSync(command, args, { encoding: "utf8", shell: false })
  const ok = run.status === 0
  process.stdout.write(`${ok ? "ok  " : "FAIL"} ${name}\n`)
  if (!ok) process.stdout.write(`${run.stdout ?? ""}${run.stderr ?? ""}${run.error?.message ?? ""}\n`)
  return !ok
})

if (failed.length > 0) process.exitCode = 1
