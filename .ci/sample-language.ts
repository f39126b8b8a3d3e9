/**
 * Draws random sentences from comments, messages, pages and documents, for a person to judge whether each is clear at
 * the first reading. `node .ci/sample-language.ts [N] [--seed S]` draws N (100). The same seed and files give the same
 * sentences.
 */
import { execFileSync } from "node:child_process"
import { hash, randomInt } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"

const root = new URL("..", import.meta.url).pathname
const { positionals, values } = parseArgs({ allowPositionals: true, options: { seed: { type: "string" } } })
const count = Number(positionals[0] ?? 100)
const seed = Number(values.seed ?? randomInt(1_000_000))
if (!Number.isInteger(count) || count < 1 || !Number.isInteger(seed)) {
  process.stderr.write("expected: node .ci/sample-language.ts [NUMBER] [--seed WHOLE_NUMBER]\n")
  process.exit(3)
}

/** Prose, with the index in its file. */
type Passage = readonly [index: number, text: string]

/** Comments and string literals of code. Skips strings in tests, which are names and data. */
const passagesOfCode = (file: string, text: string): ReadonlyArray<Passage> =>
  [
    ...text.matchAll(/\/\*\*?([^]*?)\*\/|(?:^[ \t]*\/\/[^\n]*\n?)+|"((?:\\.|[^"\\\n])+)"|`((?:\\.|[^`\\\n])+)`/gm)
  ].flatMap(({ 0: whole, 1: block, 2: quoted, 3: template, index }): ReadonlyArray<Passage> => {
    const string = quoted ?? template
    if (string !== undefined) return /\/test\//.test(file) ? [] : [[index, string.replaceAll("\\n", " ")]]
    const prose = (block ?? whole).replaceAll(/^[ \t]*(?:\*|\/\/)[ \t]?/gm, "")
    return prose.split(/\n\s*\n|\n(?=\s*[-*|] )|\n(?=@)/).map((part) => [index, part])
  })

/** Paragraphs, list items, headings and table cells, without code blocks and HTML. */
const passagesOfDocument = (text: string): ReadonlyArray<Passage> => {
  const blank = (block: string): string => block.replaceAll(/[^\n]/g, "")
  const prose = text.replaceAll(/^ *```[^]*?^ *```$/gm, blank).replaceAll(/<!--[^]*?-->|<[^>]+>/g, blank)
  const blocks = prose.matchAll(/^(?:\|.*\||(?!\|)\S[^]*?)(?=\n\s*(?:\n|[-*] |\d+\. |\|)|\n\||$(?![^]))/gm)
  return [...blocks].flatMap(({ 0: block, index }) =>
    (block.startsWith("|") ? block.split(" | ") : [block]).map((part): Passage => {
      const plain = part.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
      return [index, plain.replaceAll(/^\s*(?:[-*#>|]+|\d+\.)\s+|\*\*|\s*\|\s*$/g, "")]
    })
  )
}

/** Whether a text is a sentence: at least four words, mostly letters, no code. */
const isSentence = (text: string): boolean =>
  (text.replaceAll(/\$\{[^}]*\}/g, "").match(/(?<=^|[\s(`"])[\p{L}']{2,}/gu) ?? []).length >= 4 &&
  (text.match(/[\p{L}\s,.]/gu) ?? []).length > 0.75 * text.length &&
  !/=>|^(?:import|const|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|ON|WITH|AND|FROM|WHERE)\b/.test(text)

const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 })
  .split("\n")
  .filter((file) => /\.(?:ts|mts|js|mjs|cjs|md)$/.test(file) && !file.endsWith("/de.ts"))

const sentences = files.flatMap((file) => {
  const text = readFileSync(join(root, file), "utf8")
  return (file.endsWith(".md") ? passagesOfDocument(text) : passagesOfCode(file, text)).flatMap(([index, passage]) =>
    passage
      .replaceAll(/\s+/g, " ")
      .split(/(?<=[.!?:]\)?) (?=[\p{Lu}`"])/u)
      .map((part) => part.trim())
      .filter(isSentence)
      .map((part) => `${file}:${text.slice(0, index).split("\n").length}\n    ${part}`)
  )
})

const drawn = sentences
  .map((sentence, at) => [hash("sha1", `${seed} ${at} ${sentence}`), sentence] as const)
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .slice(0, count)
for (const [number, [, sentence]] of drawn.entries()) {
  process.stdout.write(`${String(number + 1).padStart(3)} ${sentence}\n`)
}
process.stdout.write(
  `\n${drawn.length} of ${sentences.length} sentences, seed ${seed}: node .ci/sample-language.ts ${count} --seed ${seed}\n`
)
