/**
 * The reference of scenario files for the documentation, made from their JSON Schema: every parameter with what it means,
 * its default and its source. `node --conditions=source Reference.ts` writes it into the page; a test keeps it equal.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Predicate } from "effect"
import { scenarioJsonSchema } from "./JsonSchema.ts"
import { sourceKey } from "./Parameter.ts"

/** The page that holds the reference, and the lines around it. */
export const referencePage = new URL("../../../../docs/simulator.md", import.meta.url)
const begin = "<!-- reference: made from docs/scenario.schema.json -->"
const end = "<!-- end of reference -->"

/** An object of the schema, or nothing. */
const part = (value: unknown, ...keys: ReadonlyArray<string>): unknown =>
  keys.reduce((inner, key) => (Predicate.hasProperty(inner, key) ? inner[key] : undefined), value)

/** A key of a schema: the schema's own, or that of one of its conditions. */
const found = (schema: unknown, key: string): unknown => {
  const own = part(schema, key)
  if (own !== undefined) return own
  const conditions = part(schema, "allOf")
  return Array.isArray(conditions)
    ? conditions.map((one: unknown) => part(one, key)).find((one) => one !== undefined)
    : undefined
}

const textOf = (value: unknown): string => (Predicate.isString(value) ? value : "")

const cell = (text: string): string => text.replaceAll("|", "\\|")

const shownDefault = (schema: unknown): string => {
  const value = found(schema, "default")
  return value === undefined || value === ""
    ? ""
    : `\`${JSON.stringify(value).replaceAll('"', "").replaceAll(",", ", ")}\``
}

const rowsOf = (schema: unknown): ReadonlyArray<string> =>
  Object.entries(Object(part(schema, "properties"))).map(([name, member]) => {
    const source = textOf(found(member, sourceKey))
      .replace("assumed; no public figures exist", "assumed")
      .replace("a setting", "")
    return `| \`${name}\` | ${cell(textOf(found(member, "description")))} | ${cell(shownDefault(member))} | ${cell(source)} |`
  })

const table = (title: string, intro: string, schema: unknown): string =>
  [
    `### ${title}`,
    "",
    ...(intro === "" ? [] : [`${intro}.`, ""]),
    "| parameter | meaning | default | source |",
    "|---|---|---|---|",
    ...rowsOf(schema)
  ].join("\n")

/** The reference as Markdown. */
const scenarioReference = (): string => {
  const schema: unknown = JSON.parse(scenarioJsonSchema())
  const building = part(schema, "properties", "buildings", "items")
  const flows = Object.entries(Object(part(building, "properties", "flows", "properties")))
  const sections = ["homes", "offices", "anomalies", "devices"].map((name) => {
    const own = part(building, "properties", name)
    return table(`buildings[].${name}`, textOf(part(own, "description")), own)
  })
  return [
    table("The file", "", schema),
    table("buildings[]", "", building),
    ...sections,
    ...flows.map(([name, flow]) => table(`buildings[].flows.${name}`, textOf(part(flow, "description")), flow))
  ].join("\n\n")
}

/** The page with the reference in it. */
export const withReference = (page: string): string => {
  const [before = "", rest = ""] = page.split(begin)
  const [, after = ""] = rest.split(end)
  return `${before}${begin}\n\n${scenarioReference()}\n\n${end}${after}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(referencePage, withReference(readFileSync(referencePage, "utf8")))
}
