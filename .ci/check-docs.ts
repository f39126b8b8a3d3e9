/**
 * Checks every code block of the documentation: type-checks TypeScript against the sources, parses JSON and YAML, and
 * compares commands with their help. Skips a block whose opening fence contains `unchecked`. Also checks that the index
 * and the sidebar link to every page, and that links between pages lead to existing files and headings.
 */
import { spawnSync } from "node:child_process"
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { parse } from "yaml"
import { runHere } from "../packages/doorhook/test/harness/InProcess.ts"

const root = new URL("..", import.meta.url).pathname

interface Block {
  readonly page: string
  readonly line: number
  readonly language: string
  readonly text: string
}

const pages = ["README.md", "docs/*.md", "packages/*/README.md"].flatMap((pattern) => globSync(pattern, { cwd: root }))

const blocksOf = (page: string): ReadonlyArray<Block> => {
  const text = readFileSync(join(root, page), "utf8")
  return [...text.matchAll(/^( *)```(\w+)([^\n]*)\n([^]*?)^ *```$/gm)].flatMap(
    ({ 1: indent = "", 2: language = "", 3: marker = "", 4: inner = "", index }) =>
      marker.includes("unchecked")
        ? []
        : [
            {
              page,
              line: text.slice(0, index).split("\n").length,
              language,
              text: inner.replaceAll(new RegExp(`^${indent}`, "gm"), "")
            }
          ]
  )
}

const blocks = pages.flatMap(blocksOf)
const problems: Array<string> = []
const complain = ({ line, page }: Block, problem: string): void => void problems.push(`${page}:${line}: ${problem}`)
const of = (...languages: ReadonlyArray<string>) => blocks.filter(({ language }) => languages.includes(language))

const attempt = (block: Block, parsing: () => unknown): void => {
  try {
    parsing()
  } catch (error) {
    complain(block, error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error))
  }
}

for (const block of of("json")) attempt(block, () => JSON.parse(block.text))
for (const block of of("yaml")) attempt(block, () => parse(block.text))

/**
 * Returns a code block as a TypeScript module. Wraps a block that shows a single function of the directory in an
 * object.
 */
const asModule = (text: string): string =>
  /^(session|authenticate|client|administers|isTenant): /.test(text)
    ? `import type { HostDirectory } from "doorhook"\nexport const directory: Partial<HostDirectory> = {\n${text}}\n`
    : `${text}\nexport {}\n`

const checkTypes = (): void => {
  const folder = join(root, "docs/.vitepress/check")
  const written = join(folder, "blocks")
  const scripts = of("ts", "js")
  rmSync(written, { recursive: true, force: true })
  mkdirSync(written)
  for (const [index, { language, text }] of scripts.entries()) {
    writeFileSync(join(written, `${index}.${language === "ts" ? "ts" : "mjs"}`), asModule(text))
  }
  const { stdout } = spawnSync("tsc", ["-p", folder, "--pretty", "false"], { cwd: folder, encoding: "utf8" })
  for (const line of stdout.split("\n").filter((text) => text !== "")) {
    const block = scripts[Number(/^blocks\/(\d+)\./.exec(line)?.[1])]
    // Examples may import files that exist only in the reader's project.
    if (/Cannot find module '\.\.?\//.test(line)) continue
    if (block !== undefined) complain(block, line)
    else if (!line.startsWith(" ")) problems.push(line)
  }
  rmSync(written, { recursive: true, force: true })
}

// Commands.
const scripts: Readonly<Record<string, unknown>> = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).scripts

/** Splits a command into its words. */
const wordsOf = (line: string): ReadonlyArray<string> =>
  [...line.matchAll(/'[^']*'|"[^"]*"|[^\s'"]+/g)].map(([word]) => word)

const helps = new Map<string, Promise<string>>()

/** Returns the `--help` of a command. Runs it in this process, because starting one takes longer than printing. */
const helpOf = (path: ReadonlyArray<string>): Promise<string> => {
  const key = path.join(" ")
  const help =
    helps.get(key) ?? Effect.runPromise(runHere([...path, "--help"], { NO_COLOR: "1" })).then(({ stdout }) => stdout)
  helps.set(key, help)
  return help
}

/** Returns the subcommands in a help text. */
const subcommandsIn = (help: string): ReadonlyArray<string> =>
  [...(/\nSUBCOMMANDS\n([^]*?)(?:\n\n|$)/.exec(`${help}\n`)?.[1] ?? "").matchAll(/^ {2}([a-z-]+)/gm)].map(
    ([, name = ""]) => name
  )

const checkDoorhook = async (block: Block, words: ReadonlyArray<string>): Promise<void> => {
  const path: Array<string> = []
  for (;;) {
    const known = subcommandsIn(await helpOf(path))
    const next = words[path.length]
    if (known.length === 0) break
    if (next === undefined || next.startsWith("-")) break
    if (!known.includes(next)) return complain(block, `doorhook ${path.join(" ")}: no subcommand ${next}`)
    path.push(next)
  }
  const help = await helpOf(path)
  for (const word of words.slice(path.length).filter((one) => one.startsWith("--"))) {
    const flag = word.split("=")[0] ?? ""
    if (!new RegExp(`(^|[\\s,])${flag}(\\s|,|$)`, "m").test(help)) {
      complain(block, `doorhook ${path.join(" ")}: no flag ${flag}`)
    }
  }
}

const checkLine = async (block: Block, line: string): Promise<void> => {
  const words = wordsOf(line)
  const at = words.findIndex((word, index) => word === "doorhook" && (index === 0 || words[index - 1] === "npx"))
  if (at !== -1) return checkDoorhook(block, words.slice(at + 1))
  const [npm, command, name] = words
  if (npm !== "npm") return
  const script = command === "run" ? name : command === "start" || command === "test" ? command : undefined
  if (script !== undefined && !(script in scripts)) complain(block, `npm run ${script}: no such script`)
}

checkTypes()
await Promise.all(
  of("sh").flatMap((block) =>
    block.text
      .replaceAll(/\\\n\s*/g, " ")
      .split("\n")
      .flatMap((line) => line.replace(/(^|\s)#.*$/, "").split(/\s&&\s|;\s|\s\|\s/))
      .map((line) => checkLine(block, line.trim()))
  )
)

// Pages without a link.
const leads = [
  { from: "docs/index.md", to: (name: string) => `](${name}.md)` },
  { from: "docs/.vitepress/config.ts", to: (name: string) => `, "${name}"]` }
]
for (const { from, to } of leads) {
  const text = readFileSync(join(root, from), "utf8")
  for (const page of pages) {
    const name = /^docs\/(.+)\.md$/.exec(page)?.[1] ?? "index"
    if (name !== "index" && !text.includes(to(name))) problems.push(`${page}: ${from} does not link to this page`)
  }
}

// Links between pages.
/** Returns the anchors of a heading on the site and on GitHub, which differ in punctuation. */
const anchorsOf = (heading: string): ReadonlyArray<string> => {
  const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase()
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? []
  return [words.join("-"), text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-")]
}
const anchors = new Map(
  pages.map((page) => {
    const text = readFileSync(join(root, page), "utf8").replaceAll(/^ *```[^]*?^ *```$/gm, "")
    return [page, new Set([...text.matchAll(/^#+ (.+)$/gm)].flatMap(([, heading = ""]) => anchorsOf(heading)))]
  })
)
for (const page of pages) {
  const text = readFileSync(join(root, page), "utf8")
  for (const [, path = "", anchor] of text.matchAll(/\]\(([^)#\s:]*)(?:#([^)\s]+))?\)/g)) {
    const target = path === "" ? page : join(dirname(page), path)
    if (target.startsWith("docs/reference")) continue
    if (!existsSync(join(root, target))) problems.push(`${page}: no file ${path}`)
    else if (anchor !== undefined && anchors.get(target)?.has(anchor) === false) {
      problems.push(`${page}: no heading #${anchor} in ${target}`)
    }
  }
}

process.stdout.write(`${blocks.length} code blocks in ${pages.length} pages\n`)
if (problems.length > 0) {
  process.stderr.write(`${problems.join("\n")}\n`)
  process.exitCode = 1
}
