/**
 * The JSON Schema of scenario files, for editors and for the documentation. The published file is this, kept equal by a
 * test; `node --conditions=source JsonSchema.ts` writes it anew.
 */
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import { sourceKey } from "./Parameter.ts"
import { ScenarioDocument } from "./ScenarioDocument.ts"

/** Where it is published. */
export const schemaFile = new URL("../../../../docs/scenario.schema.json", import.meta.url)

/** Its text. */
export const scenarioJsonSchema = (): string => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(ScenarioDocument, {
    onExcessProperty: "error",
    includeAnnotationKey: (key) => key === sourceKey
  })
  const document = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "doorhook scenario",
    ...schema,
    ...(Object.keys(definitions).length > 0 && { $defs: definitions })
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(schemaFile, scenarioJsonSchema())
