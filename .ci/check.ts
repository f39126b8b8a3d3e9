/**
 * Runs all static checks: types, lint, format, Effect's diagnostics, imports between packages, published packages and the
 * code in the documentation.
 *
 * Runs every check even if one fails, so that one run shows all problems.
 */
import { execFile } from "node:child_process"
import { randomInt } from "node:crypto"
import { promisify } from "node:util"
import { published } from "./published.ts"

type Check = readonly [name: string, command: string, ...args: ReadonlyArray<string>]

/** The two lists run in parallel, because most checks use a single core. */
const lists: ReadonlyArray<ReadonlyArray<Check>> = [
  [
    ["types", "tsc", "-p", ".ci/tsconfig.json"],
    ["page script types", "tsc", "-p", "packages/server/src/ui/static"],
    ["effect", "effect-tsgo", "diagnostics", "--project", ".ci/tsconfig.json"],
    ["lint", "oxlint", "-c", ".oxlintrc.json", "--type-aware", "--deny-warnings"],
    ["format", "oxfmt", "--config", ".oxfmtrc.json", "--check", "."]
  ],
  [
    ["docs", "node", "--conditions=source", ".ci/check-docs.ts"],
    ["reference", "node", "--conditions=source", ".ci/docs-reference.ts", "--check"],
    ["imports", "node", ".ci/check-imports.ts"],
    ["build", "npm", "run", "--silent", "build"],
    ["comments", "node", ".ci/check-comments.ts"],
    ...published.map((place): Check => [`package ${place}`, "publint", "--strict", "--pack", "false", place]),
    ["unused", "knip", "-c", ".ci/knip.json", "--no-progress", "--no-config-hints"]
  ]
]

const run = promisify(execFile)

const passes = async ([name, command, ...args]: Check): Promise<boolean> => {
  try {
    await run(command, args, { maxBuffer: Infinity })
    process.stdout.write(`ok   ${name}\n`)
    return true
  } catch (error) {
    const { message, stderr = "", stdout = "" }: { message?: string; stderr?: string; stdout?: string } = Object(error)
    process.stdout.write(`FAIL ${name}\n${stdout}${stderr}${stdout + stderr === "" ? message : ""}\n`)
    return false
  }
}

const inTurn = async (checks: ReadonlyArray<Check>): Promise<boolean> => {
  let ok = true
  for (const check of checks) ok = (await passes(check)) && ok
  return ok
}

const ended = await Promise.all(lists.map(inTurn))
if (ended.includes(false)) process.exitCode = 1
process.stdout.write(
  `A person must judge the language: node .ci/sample-language.ts --seed ${randomInt(1_000_000)} draws 100 sentences\n`
)
