/**
 * `doorhook types` prints the resource types of a configuration or of a running service. TypeScript compiles what it
 * prints, and finds mistakes of a receiver.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { live } from "./harness/Embedded.ts"
import { runHere, serveHere } from "./harness/InProcess.ts"

const compiler = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url))

const resourceTypes = {
  parcel: {
    title: "Parcel */",
    description: "Somebody brought a parcel.",
    actions: ["create", "fetch"],
    schema: {
      type: "object",
      properties: {
        id: { type: "integer" },
        "tracking-number": { type: ["string", "null"], description: "Of the carrier." },
        carrier: { $ref: "#/$defs/carrier" },
        size: { type: "array", prefixItems: [{ type: "number" }, { type: "number" }], items: false },
        labels: { type: "object", additionalProperties: { type: "string" } },
        notes: { type: "array", items: { anyOf: [{ type: "string" }, { const: 7 }] } },
        anything: true
      },
      required: ["id", "carrier"],
      $defs: { carrier: { type: "object", properties: { name: { enum: ["DHL", "UPS"] } }, required: ["name"] } }
    }
  },
  letter: {},
  // Names that would be the same in TypeScript.
  door_1: {
    schema: { type: "object", properties: { held: { $ref: "#/$defs/data" } }, $defs: { data: { type: "boolean" } } }
  },
  door1: { schema: { type: "object", properties: { forced: { type: "boolean" } } } },
  webhook: {}
}

/** A receiver that is right, and lines that are not. */
const receiver = `import type { WebhookBody, ParcelData } from "./webhooks.ts"

export const ring = ({ event }: WebhookBody): string => {
  switch (event.resource_type) {
    case "call":
      return event.data.unit?.label ?? event.data.panel.name
    case "access_log":
      return event.data.image_url ?? event.data.name
    case "call_end":
      return event.data.reason === "answered_elsewhere" ? String(event.data.call_id) : ""
    case "parcel":
      return event.action === "fetch" ? "" : String(event.data.size?.[1]) + event.data.carrier.name
    case "door_1":
      return event.data.held === true ? "held" : ""
    case "door1":
      return event.data.forced === true ? "forced" : ""
    case "webhook":
    case "letter":
      return String(event.data["what"])
  }
}
export const kind: WebhookBody["event"]["resource_type"] = "parcel"
export const parcel: ParcelData = { id: 1, carrier: { name: "DHL" }, "tracking-number": null, notes: ["a", 7] }
// @ts-expect-error: no such carrier
export const misspelled: ParcelData = { id: 1, carrier: { name: "DLH" } }
// @ts-expect-error: no carrier
export const missing: ParcelData = { id: 1 }
// @ts-expect-error: no such type
export const unknown: WebhookBody["event"]["resource_type"] = "parsel"
`

const compile = (folder: string) =>
  Effect.promise(
    () =>
      new Promise<string>((resolve) => {
        const options = [
          "--ignoreConfig",
          "--noEmit",
          "--strict",
          "--allowImportingTsExtensions",
          "--types",
          "",
          "--module",
          "nodenext"
        ]
        execFile(process.execPath, [compiler, ...options, join(folder, "receiver.ts")], (_, stdout) => resolve(stdout))
      })
  )

describe("doorhook types", () => {
  live(
    "prints TypeScript of a service's types that compiles and finds mistakes, whatever the types are called",
    function* () {
      const folder = yield* temporaryFolder
      const config = join(folder, "settings.json")
      writeFileSync(config, JSON.stringify({ resourceTypes, callEnd: true }))
      const { code, stdout } = yield* runHere(["types", "--typescript", "--config", config])
      assert.strictEqual(code, 0)
      const { url } = yield* serveHere(["--database", "memory", "--config", config])
      const remote = yield* runHere(["types", "--typescript", "--url", url])
      assert.strictEqual(remote.stdout, stdout)
      mkdirSync(join(folder, "src"))
      writeFileSync(join(folder, "src", "package.json"), '{"type":"module"}')
      writeFileSync(join(folder, "src", "webhooks.ts"), stdout)
      writeFileSync(join(folder, "src", "receiver.ts"), receiver)
      assert.strictEqual(yield* compile(join(folder, "src")), "", stdout)
    }
  )

  live("lists types, and says what is wrong with its input", function* () {
    const { stdout } = yield* runHere(["types"])
    assert.match(stdout, /^call +Call +create +45s +high$/m)
    assert.match(stdout, /^access_log +Access log +create +no limit +normal$/m)
    const json = yield* runHere(["types", "--json", "--call-end"])
    assert.include(json.stdout, '"id": "call_end"')
    const nobody = yield* runHere(["types", "--url", "http://127.0.0.1:1"])
    assert.strictEqual(nobody.code, 1)
    assert.include(nobody.stderr, "No answer from http://127.0.0.1:1/v4/resource_types")
    const noUrl = yield* runHere(["types", "--url", "doors.example"])
    assert.strictEqual(noUrl.code, 3)
    assert.include(noUrl.stderr, "--url: must be an http or https URL")
  })
})
