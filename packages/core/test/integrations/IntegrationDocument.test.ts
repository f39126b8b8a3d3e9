import { assert, describe, it } from "@effect/vitest"
import { Predicate, Result } from "effect"
import fc from "fast-check"
import { candidateUrl, mismatchOf, readAttributes, readChanges } from "../../src/integrations/IntegrationDocument.ts"
import type { ReadContext } from "../../src/integrations/IntegrationDocument.ts"
import { IntegrationId } from "../../src/model/Ids.ts"
import { builtInTable } from "../../src/model/ResourceType.ts"
import { say } from "../../src/model/Sentences.ts"

const context: ReadContext = {
  urlProblem: null,
  types: builtInTable,
  aliases: { door_release: "access_log" },
  mostDetail: () => "full"
}

type Members = Readonly<Record<string, unknown>>

const types = fc.uniqueArray(fc.constantFrom("call" as const, "access_log" as const), { minLength: 1 })
const bindingOf = (resource_type: string): Members => ({ resource_type, actions: ["create"] })

const valid = fc.record({ url: fc.webUrl(), types }).map(({ url, types: names }) => ({
  integrator: "webhook",
  configuration: { url, method: "post" },
  bindings: names.map(bindingOf)
}))

const documentOf = (attributes: unknown, more: Members = {}): Members => ({
  data: { type: "integrations", attributes, ...more }
})

/** Members with unknown names: no known name has their prefix. */
const noise = fc.dictionary(
  fc.string({ maxLength: 5 }).map((name) => `x-${name}`),
  fc.jsonValue({ maxDepth: 1 }),
  { maxKeys: 3 }
)

const parts = fc.array(noise, { minLength: 6, maxLength: 6 })
const spelling = fc.constantFrom("post", "POST", "Post")

/** Whether a JSON Pointer refers to an existing value of a document. */
const has = (document: unknown, pointer: string): boolean => {
  let value = document
  for (const name of pointer.split("/").slice(1)) {
    if (!Predicate.isObjectOrArray(value) || !Object.hasOwn(value, name)) return false
    value = Reflect.get(value, name)
  }
  return true
}

describe("reading a whole document", () => {
  it("reads the same integration, whatever unknown members it has", () => {
    fc.assert(
      fc.property(valid, parts, spelling, fc.boolean(), (attributes, more, method, alias) => {
        const [top, data, inner, configuration, binding, action] = more
        const noisy = {
          ...top,
          ...documentOf(
            {
              ...inner,
              ...attributes,
              configuration: { ...configuration, ...attributes.configuration, method },
              // Each type occurs twice, the second time under its alias if it has one.
              bindings: [...attributes.bindings, ...attributes.bindings].map((each) => ({
                ...binding,
                ...each,
                ...(alias && each["resource_type"] === "access_log" && { resource_type: "door_release" }),
                actions: ["create", "create"],
                resource_id: null
              }))
            },
            { ...data, meta: action }
          )
        }
        const read = readAttributes(noisy, context)
        assert.deepStrictEqual(
          Result.getOrNull(read),
          Result.getOrNull(readAttributes(documentOf(attributes), context))
        )
        assert.deepStrictEqual<unknown>(Result.getOrThrow(read), attributes)
      })
    )
  })

  it("finds any single mistake, and points to an existing place in the document", () => {
    const wrong = fc.oneof(
      fc.constant(undefined),
      fc.constant(null),
      fc.integer(),
      fc.constantFrom("wrong", [], {}, [5], false)
    )
    const paths = [
      "/data",
      "/data/type",
      "/data/attributes",
      "/data/attributes/integrator",
      "/data/attributes/configuration",
      "/data/attributes/configuration/url",
      "/data/attributes/configuration/method",
      "/data/attributes/bindings",
      "/data/attributes/bindings/0",
      "/data/attributes/bindings/0/resource_type",
      "/data/attributes/bindings/0/actions",
      "/data/attributes/bindings/0/actions/0"
    ]
    fc.assert(
      fc.property(valid, fc.constantFrom(...paths), wrong, (attributes, path, value) => {
        const right: unknown = JSON.parse(JSON.stringify(documentOf(attributes)))
        const names = path.split("/").slice(1)
        const last = names.pop() ?? ""
        let parent: unknown = right
        for (const name of names) parent = Predicate.isObjectOrArray(parent) ? Reflect.get(parent, name) : undefined
        if (!Predicate.isObjectOrArray(parent)) throw new Error(`no ${path}`)
        Reflect.set(parent, last, value)
        // JSON omits undefined members and writes undefined elements as null.
        const document: unknown = JSON.parse(JSON.stringify(right))

        if (mismatchOf(document, null) !== null) {
          assert.strictEqual(path, "/data/type")
          return
        }
        const url = candidateUrl(document)
        const urlProblem = url === "wrong" ? { code: "not_a_url" as const, said: say("url_not_a_url") } : null
        const problems = Result.getOrNull(Result.flip(readAttributes(document, { ...context, urlProblem })))
        assert.isNotNull(problems, JSON.stringify(document))
        for (const { pointer, code, title, detail } of problems ?? []) {
          assert.isTrue(has(document, pointer), `${pointer} in ${JSON.stringify(document)}`)
          assert.isTrue(path.startsWith(pointer) || pointer.startsWith(path), `${pointer} for ${path}`)
          assert.isTrue([code, title, detail].every(Boolean), `${pointer}: ${detail}`)
        }
      }),
      { numRuns: 500 }
    )
  })

  it("never fails on any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (document) => {
        assert.isTrue(Result.isResult(readAttributes(document, context)))
        assert.isTrue(Result.isResult(readChanges(document, context)))
        assert.include(["wrong_type", "wrong_id", "client_made_id", null], mismatchOf(document, null))
      })
    )
  })
})

describe("reading changes", () => {
  it("reads only the members that are present", () => {
    const changes = fc.record(
      {
        integrator: fc.constant("webhook"),
        configuration: fc.record({ url: fc.webUrl(), method: fc.constant("post") }, { requiredKeys: [] }),
        bindings: types.map((names) => names.map(bindingOf)),
        status: fc.constantFrom("enabled", "disabled")
      },
      { requiredKeys: [] }
    )
    fc.assert(
      fc.property(changes, (attributes) => {
        const read = Result.getOrThrow(readChanges(documentOf(attributes), context))
        assert.deepStrictEqual<unknown>(read, attributes)
      })
    )
    assert.deepStrictEqual(Result.getOrThrow(readChanges({ data: { type: "integrations" } }, context)), {})
  })
})

describe("the resource of a document", () => {
  const id = IntegrationId.make(7)
  const about = (type: unknown, given: unknown) => ({ data: { type, id: given } })

  it("is checked by its type, then by its id", () => {
    assert.strictEqual(mismatchOf(about("webhooks", "7"), id), "wrong_type")
    assert.strictEqual(mismatchOf(about("integrations", "8"), id), "wrong_id")
    assert.strictEqual(mismatchOf(about("integrations", "07"), id), "wrong_id")
    assert.strictEqual(mismatchOf(about("integrations", {}), id), "wrong_id")
    assert.strictEqual(mismatchOf(about("integrations", "7"), null), "client_made_id")
    for (const fine of ["7", 7, null, undefined]) assert.isNull(mismatchOf(about("integrations", fine), id))
    assert.isNull(mismatchOf(about(undefined, undefined), null))
  })
})
