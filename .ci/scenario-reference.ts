/**
 * Writes the JSON Schema of scenario files for editors (docs/scenario.schema.json) and the validation bands in
 * docs/simulator.md. A test fails when they differ from the sources.
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
export const bandsPage = new URL("../docs/simulator.md", import.meta.url)

/** Annotations of parameters to keep in the JSON Schema. */
const kept: ReadonlyArray<string> = [sourceKey, "pattern", "minimum", "maximum"]

/** Returns the text of the JSON Schema. */
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

const bandsPlace = ["<!-- bands: made from simulator/src/validate/bands.json -->", "<!-- end of bands -->"] as const

/** Returns a part of the schema; undefined if it is missing. */
const part = (value: unknown, ...keys: ReadonlyArray<string>): unknown =>
  keys.reduce((inner, key) => (Predicate.hasProperty(inner, key) ? inner[key] : undefined), value)

/** Whether the people of a flow must ring to get in, like visitors, couriers, guests and trades. */
const isOutsiders = (flow: unknown): boolean => part(flow, "properties", "ring_out") !== undefined

/** Returns the value of a key in a schema or, if missing there, in one of the schema's conditions. */
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
    `## ${title}`,
    "",
    ...(intro === "" ? [] : [`${intro}.`, ""]),
    "| parameter | meaning | default | source |",
    "|---|---|---|---|",
    ...rowsOf(schema)
  ].join("\n")

/** Returns each different text with the names of its flows. If all flows have the same text, returns only the text. */
const grouped = (texts: ReadonlyArray<readonly [flow: string, text: string]>): string => {
  const groups = [...Map.groupBy(texts, ([, text]) => text)]
  const [first] = groups
  if (first === undefined || groups.length === 1) return first?.[0] ?? ""
  return groups
    .filter(([text]) => text !== "assumed")
    .map(([text, own]) => `${own.map(([flow]) => flow).join(", ")}: ${text}`)
    .join("; ")
}

/** Describes flows with the same parameters: one table with their meaning, and one with the defaults that differ. */
const sharedTables = (flows: ReadonlyArray<readonly [name: string, schema: unknown]>): string => {
  const names = Object.keys(Object(part(flows[0]?.[1], "properties")))
  const ofEach = (name: string, text: (schema: unknown) => string) =>
    flows.map(([flow, schema]) => [flow, text(part(schema, "properties", name))] as const)
  const isShared = (name: string) => new Set(ofEach(name, shownDefault).map(([, text]) => text)).size === 1
  const sourceOf = (schema: unknown) => textOf(found(schema, sourceKey)).replace(assumed, "assumed")
  return [
    `## buildings[].flows: ${flows.map(([flow]) => flow).join(", ")}`,
    "",
    ...flows.map(([flow, schema]) => `- \`${flow}\`: ${textOf(found(schema, "description"))}`),
    "",
    "| parameter | meaning | default | source |",
    "|---|---|---|---|",
    ...names.map((name) => {
      const meaning = grouped(ofEach(name, (schema) => textOf(found(schema, "description"))))
      const usual = isShared(name) ? shownDefault(part(flows[0]?.[1], "properties", name)) : "below"
      return `| \`${name}\` | ${cell(meaning)} | ${cell(usual)} | ${cell(grouped(ofEach(name, sourceOf)))} |`
    }),
    "",
    `| default of | ${flows.map(([flow]) => `\`${flow}\``).join(" | ")} |`,
    `|${"---|".repeat(flows.length + 1)}`,
    ...names
      .filter((name) => !isShared(name))
      .map(
        (name) =>
          `| \`${name}\` | ${ofEach(name, shownDefault)
            .map(([, text]) => cell(text))
            .join(" | ")} |`
      )
  ].join("\n")
}

/** Returns the parameters of scenario files as tables. */
export const scenarioReference = (): string => {
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
    ...flows
      .filter(([, flow]) => !isOutsiders(flow))
      .map(([name, flow]) => table(`buildings[].flows.${name}`, textOf(found(flow, "description")), flow)),
    sharedTables(flows.filter(([, flow]) => isOutsiders(flow)))
  ].join("\n\n")
}

/** Returns the validation bands as table rows. */
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

/** Returns the page with its bands replaced. */
export const withBands = (page: string): string => between(page, bandsPlace, bandsTable())

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(schemaFile, scenarioJsonSchema())
  writeFileSync(bandsPage, withBands(readFileSync(bandsPage, "utf8")))
}
