/**
 * Generates the JSON Schema of scenario files (docs/scenario.schema.json), for editors, and their reference in
 * docs/simulator.md, from the parameters in the simulator's sources. A test checks that both are current.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Predicate, Schema } from "effect"
import { ScenarioDocument } from "../simulator/src/scenario/ScenarioDocument.ts"
import { assumed, sourceKey } from "../simulator/src/traffic/Parameter.ts"
import bands from "../simulator/src/validate/bands.json" with { type: "json" }
import { bandOf, measures, shown } from "../simulator/src/validate/Realism.ts"
import { buildingUses } from "../simulator/src/world/Building.ts"

export const schemaFile = new URL("../docs/scenario.schema.json", import.meta.url)
export const referencePage = new URL("../docs/simulator.md", import.meta.url)

/** Annotations of parameters to keep in the JSON Schema. */
const kept: ReadonlyArray<string> = [sourceKey, "pattern", "minimum", "maximum"]

/** The text of the JSON Schema. */
export const scenarioJsonSchema = (): string => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(ScenarioDocument, {
    onExcessProperty: "error",
    includeAnnotationKey: (key) => kept.includes(key)
  })
  const document = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "doorhook scenario",
    ...schema,
    ...(Object.keys(definitions).length > 0 && { $defs: definitions })
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

const reference = ["<!-- reference: made from docs/scenario.schema.json -->", "<!-- end of reference -->"] as const
const bandsPlace = ["<!-- bands: made from simulator/src/validate/bands.json -->", "<!-- end of bands -->"] as const

/** A part of the schema; undefined if it is missing. */
const part = (value: unknown, ...keys: ReadonlyArray<string>): unknown =>
  keys.reduce((inner, key) => (Predicate.hasProperty(inner, key) ? inner[key] : undefined), value)

/** A key of a schema, or of one of its conditions. */
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
  return value === undefined || value === "" || JSON.stringify(value) === "{}"
    ? ""
    : `\`${JSON.stringify(value).replaceAll('"', "").replaceAll(",", ", ")}\``
}

const rowsOf = (schema: unknown): ReadonlyArray<string> =>
  Object.entries(Object(part(schema, "properties"))).map(([name, member]) => {
    const source = textOf(found(member, sourceKey)).replace(assumed, "assumed").replace("a setting", "")
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

const scenarioReference = (): string => {
  const schema: unknown = JSON.parse(scenarioJsonSchema())
  const building = part(schema, "properties", "buildings", "items")
  const flows = Object.entries(Object(part(building, "properties", "flows", "properties")))
  const sections = ["homes", "offices", "anomalies", "devices"].map((name) => {
    const own = part(building, "properties", name)
    return table(`buildings[].${name}`, textOf(found(own, "description")), own)
  })
  return [
    table("The file", "", schema),
    table("buildings[]", "", building),
    ...sections,
    ...flows.map(([name, flow]) => table(`buildings[].flows.${name}`, textOf(found(flow, "description")), flow))
  ].join("\n\n")
}

/** The bands of validation, as table rows. */
const bandsTable = (): string => {
  const rows = measures.map((measure) => {
    const { source, what } = bands[measure]
    const limits = buildingUses.map((use) => {
      const band = bandOf(measure, use)
      return band === null ? "" : `${shown(measure, band[0])} to ${shown(measure, band[1])}`
    })
    return `| ${[what, ...limits, source.replace(/; limits assumed.*$/, "")].join(" | ")} |`
  })
  return [
    `| check | ${buildingUses.join(" | ")} | source |`,
    `|${"---|".repeat(buildingUses.length + 2)}`,
    ...rows
  ].join("\n")
}

const between = (page: string, [begin, end]: readonly [string, string], text: string): string => {
  const [before = "", rest = ""] = page.split(begin)
  const [, after = ""] = rest.split(end)
  return `${before}${begin}\n\n${text}\n\n${end}${after}`
}

/** The page with the current reference and bands. */
export const withReference = (page: string): string =>
  between(between(page, reference, scenarioReference()), bandsPlace, bandsTable())

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(schemaFile, scenarioJsonSchema())
  writeFileSync(referencePage, withReference(readFileSync(referencePage, "utf8")))
}
