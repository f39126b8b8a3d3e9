import { assert, describe, it } from "@effect/vitest"
import { JsonText } from "@doorhook/core"
import { Option } from "effect"
import fc from "fast-check"

/** JSON text with white space, escapes and long numbers that `JSON.stringify` never writes. */
const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => {
  const space = fc.constantFrom("", " ", "\n\t")
  const string = fc.oneof(
    fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
    fc.constantFrom('"\\u0041\\"}"', '"\\\\"', '"]"', '"\u2028"')
  )
  const number = fc.constantFrom("1.0", "12345678901234567890", "-0", "1e400", "0.10")
  const padded = (inner: fc.Arbitrary<string>) => fc.tuple(space, inner, space).map((parts) => parts.join(""))
  return {
    value: padded(
      fc.oneof(
        { maxDepth: 3 },
        fc.oneof(string, number, fc.constantFrom("true", "null")),
        fc.array(tie("value"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
        fc
          .array(fc.tuple(padded(string), tie("value")), { maxLength: 3 })
          .map((members) => `{${members.map(([key, value]) => `${key}:${value}`).join(",")}}`)
      )
    )
  }
}).value

describe("JsonText", () => {
  it("extracts a member of an object exactly as it was written", () => {
    fc.assert(
      fc.property(
        fc.array(jsonText, { maxLength: 3 }),
        jsonText,
        fc.array(jsonText, { maxLength: 3 }),
        (before, value, after) => {
          const others = (values: ReadonlyArray<string>) => values.map((text, index) => `"data${index}":${text}`)
          const text = `{${[...others(before), `"data" : ${value}`, ...others(after)].join(",")}}`
          assert.deepStrictEqual(JsonText.membersNamed(text, "data"), [JsonText.JsonText.make(value.trim())])
        }
      )
    )
  })

  it("splits an array into its elements exactly as they were written", () => {
    fc.assert(
      fc.property(fc.array(jsonText, { maxLength: 5 }), (values) => {
        assert.deepStrictEqual(
          JsonText.elementsOf(`[${values.join(",")}]`),
          values.map((value) => JsonText.JsonText.make(value.trim()))
        )
      })
    )
  })

  it("finds every occurrence of a repeated member, even with an escaped name", () => {
    assert.deepStrictEqual(JsonText.membersNamed('{"data":1,"d\\u0061ta":{"a":2}}', "data").map(String), [
      "1",
      '{"a":2}'
    ])
  })

  it("replaces the values of named members by null, and changes nothing else", () => {
    const name = fc.constantFrom("name", "n\\u0061me", "image", "id", "names")
    const members = fc.array(fc.tuple(name, jsonText), { maxLength: 5 })
    fc.assert(
      fc.property(members, (all) => {
        const write = (replaced: boolean) =>
          `{ ${all
            .map(([key, value]) => {
              const isNamed = replaced && ["name", "image"].includes(JSON.parse(`"${key}"`))
              return `"${key}" : ${isNamed ? value.replace(value.trim(), () => "null") : value}`
            })
            .join(" ,")} }`
        const text = JsonText.JsonText.make(write(false))
        assert.strictEqual(JsonText.withNulls(text, ["name", "image"]), write(true))
        assert.strictEqual(JsonText.withNulls(text, []), text)
      })
    )
  })

  it("accepts only objects", () => {
    for (const text of ["[]", "1", '"x"', "{", "", "null", "{}x"]) {
      assert.isTrue(Option.isNone(JsonText.fromObjectText(text)), text)
    }
    assert.isTrue(Option.isSome(JsonText.fromObjectText(' {"a":1} ')))
  })
})
