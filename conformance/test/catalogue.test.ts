/**
 * The catalogue of resource types promises to receivers what the suite sends: the same members, and every value.
 */
import { builtInTable, DataSchema, JsonText } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { domain, unusualEvents } from "../src/history/Domain.ts"
import { placeholders } from "../src/history/Events.ts"
import { object } from "../src/history/Json.ts"

const filled: ReadonlyMap<string, string> = new Map([
  [placeholders.id, "1"],
  [placeholders.longId, "9223372036854775807"],
  [placeholders.guid, '"8f14e45f"'],
  [placeholders.now, '"2026-03-02T16:32:04.000Z"']
])

describe("the catalogue", () => {
  it.each(domain.map((one) => [one.plain.resource_type, one] as const))(
    "has the members that the suite sends, with every value: %s",
    (type, { members }) => {
      const schema = DataSchema.jsonSchemaOf(builtInTable.get(type)?.schema)
      const names = members.map(({ name }) => name)
      assert.deepStrictEqual(Object.keys(Object(schema["properties"])), names)
      assert.deepStrictEqual(
        schema["required"],
        members.filter(({ optional }) => !optional).map(({ name }) => name)
      )
      const problemsIn = Result.getOrThrow(DataSchema.checkerOf(schema))
      const events = [...unusualEvents(false), ...unusualEvents(true)].filter(
        ({ plain }) => plain.resource_type === type
      )
      const data = events.flatMap((each) => [each.plain, ...each.events].map((event) => event.data))
      assert.isAbove(data.length, 20)
      for (const one of data) {
        const text = object(one.map(([name, json]) => [name, filled.get(json) ?? json]))
        assert.deepStrictEqual(problemsIn(JsonText.JsonText.make(text)), [], text)
      }
    }
  )
})
