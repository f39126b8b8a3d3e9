/**
 * `npm run bench` lists the benchmarks; `npm run bench -- NAME` runs one in a process of its own and prints JSON last.
 */
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const folder = new URL("benches/", import.meta.url)

const names = readdirSync(folder)
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.slice(0, -3))

/** The first sentence of a benchmark's opening comment. */
const summaryOf = (name: string): string => {
  const text = readFileSync(new URL(`${name}.ts`, folder), "utf8")
  const comment = /\/\*\*\n([\s\S]*?)\*\//.exec(text)?.[1] ?? ""
  return (
    comment
      .replaceAll(/^ \* ?/gm, "")
      .replaceAll("\n", " ")
      .replace(/^`[^`]*`: /, "")
      .split(". ")[0] ?? ""
  )
}

const [wanted] = process.argv.slice(2)

if (wanted === undefined) {
  for (const name of names) process.stdout.write(`${name.padEnd(20)} ${summaryOf(name)}\n`)
} else if (names.includes(wanted)) {
  const args = ["--conditions=source", fileURLToPath(new URL(`${wanted}.ts`, folder))]
  process.exitCode = spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1
} else {
  process.stderr.write(`There is no benchmark ${JSON.stringify(wanted)}; there are ${names.join(", ")}.\n`)
  process.exitCode = 3
}
