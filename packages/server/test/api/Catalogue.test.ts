/**
 * The catalogue of resource types, and the webhooks in the OpenAPI description that are made from it.
 */
import { declareTypes, ResourceTypes } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { makeValidate } from "../security/JsonSchema.ts"
import { call, onServer, testServer } from "../TestServer.ts"

const treeSchema = {
  type: "object",
  properties: { id: { type: "integer" }, root: { $ref: "#/$defs/node" }, again: { $ref: "#" } },
  required: ["id"],
  $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } }
} as const

const types = Result.getOrThrow(
  declareTypes(
    {
      call: { title: "Doorbell", description: "Somebody is at the door." },
      tree: {
        actions: ["create", "fell"],
        lifetime: "1500ms",
        retry: [],
        priority: "high",
        schema: treeSchema,
        personal: ["root"],
        example: { id: 1 }
      },
      plain: {}
    },
    { hasCallEnd: true }
  )
)

const described = testServer().pipe(Layer.provide(Layer.succeed(ResourceTypes, types)))

describe("GET /v4/resource_types", () => {
  onServer("lists the built-in types with schema and example, without a token", function* () {
    const reply = yield* call("GET", "/v4/resource_types")
    assert.strictEqual(reply.status, 200)
    assert.strictEqual(reply.headers.get("content-type"), "application/vnd.api+json")
    assert.deepStrictEqual(
      [reply.at("/data/0/id"), reply.at("/data/1/id"), reply.at("/data/2")],
      ["call", "access_log", undefined]
    )
    assert.deepInclude(reply.at("/data/0/attributes"), {
      title: "Call",
      description: "Somebody rings at a door and waits for an answer.",
      actions: ["create"],
      lifetime_seconds: 45,
      priority: "high",
      personal: ["image_url"]
    })
    assert.deepInclude(reply.at("/data/1/attributes"), {
      lifetime_seconds: null,
      priority: "normal",
      personal: ["name", "image_url"]
    })
    for (const at of [0, 1]) {
      const { $schema, ...schema } = Object(reply.at(`/data/${at}/attributes/schema`))
      assert.strictEqual($schema, "https://json-schema.org/draft/2020-12/schema")
      assert.deepStrictEqual(makeValidate({})(schema, reply.at(`/data/${at}/attributes/example`)), [])
      assert.isNotEmpty(makeValidate({})(schema, { id: "one" }))
    }
    assert.strictEqual((yield* call("GET", "/v4/resource_types?page=1")).status, 400)
    assert.strictEqual((yield* call("POST", "/v4/resource_types")).status, 405)
  })

  it.effect("lists declared types as they were declared, and replaced words of built-in ones", () =>
    Effect.gen(function* () {
      const reply = yield* call("GET", "/v4/resource_types", { headers: { accept: "application/json" } })
      assert.strictEqual(reply.headers.get("content-type"), "application/json")
      assert.deepInclude(reply.at("/data/0/attributes"), {
        title: "Doorbell",
        description: "Somebody is at the door.",
        lifetime_seconds: 45
      })
      assert.deepStrictEqual(reply.at("/data/2/id"), "call_end")
      assert.deepStrictEqual(reply.at("/data/3"), {
        type: "resource_types",
        id: "tree",
        attributes: {
          title: "Tree",
          description: null,
          actions: ["create", "fell"],
          lifetime_seconds: 1.5,
          priority: "high",
          schema: { $schema: "https://json-schema.org/draft/2020-12/schema", ...treeSchema },
          personal: ["root"],
          example: { id: 1 }
        }
      })
      assert.deepInclude(reply.at("/data/4/attributes"), {
        schema: { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" },
        example: null
      })
    }).pipe(Effect.provide(described))
  )
})

describe("webhooks in the OpenAPI description", () => {
  it.effect("describe the request of each type; every reference leads to a schema", () =>
    Effect.gen(function* () {
      const reply = yield* call("GET", "/openapi.json")
      const webhook = "/webhooks/tree/post"
      assert.strictEqual(reply.at(`${webhook}/operationId`), "webhooks.tree")
      assert.strictEqual(reply.at("/webhooks/call/post/description"), "Somebody is at the door.")
      const content = reply.at(`${webhook}/requestBody/content`)
      assert.deepStrictEqual(content, {
        "application/json": {
          schema: {
            type: "object",
            properties: {
              event: {
                type: "object",
                properties: {
                  resource_type: { const: "tree" },
                  action: { enum: ["create", "fell"] },
                  data: { $ref: "#/components/schemas/TreeEventData" }
                },
                required: ["resource_type", "action", "data"]
              }
            },
            required: ["event"]
          },
          example: { event: { resource_type: "tree", action: "create", data: { id: 1 } } }
        }
      })
      const refs = [...reply.text.matchAll(/"\$ref":"#([^"]+)"/g)].map(([, pointer = ""]) => pointer)
      assert.include(refs, "/components/schemas/TreeEventData/$defs/node")
      assert.include(refs, "/components/schemas/TreeEventData")
      for (const pointer of refs) assert.isDefined(reply.at(pointer), pointer)
      const names = Object.keys(Object(reply.at("/webhooks")))
      assert.deepStrictEqual(names, [...types.keys()])
    }).pipe(Effect.provide(described))
  )
})
