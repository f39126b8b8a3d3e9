/**
 * The alerting rules. Prometheus accepts them, each fires when it should, and each links to instructions in the
 * documentation.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"

const docs = new URL("../../../../docs/", import.meta.url)
const file = fileURLToPath(new URL("prometheus-rules.yaml", docs))
const read = (path: string | URL): string => readFileSync(path, "utf8")

const Rule = Schema.Struct({
  alert: Schema.String.check(Schema.isPattern(/^Doorhook[A-Z][A-Za-z]+$/)),
  expr: Schema.NonEmptyString,
  for: Schema.String.check(Schema.isPattern(/^\d+[smh]$/)),
  labels: Schema.Struct({ severity: Schema.Literals(["critical", "warning"]) }),
  annotations: Schema.Struct({
    summary: Schema.NonEmptyString,
    description: Schema.NonEmptyString,
    runbook: Schema.String.check(Schema.isPattern(/^docs\/operations\.md#[a-z-]+$/))
  })
})

const decode = Schema.decodeUnknownSync(
  Schema.Struct({ groups: Schema.NonEmptyArray(Schema.Struct({ name: Schema.String, rules: Schema.Array(Rule) })) }),
  { onExcessProperty: "error" }
)

const rules = decode(parse(read(file))).groups.flatMap((group) => group.rules)
const page = read(new URL("operations.md", docs))

/** Whether Prometheus's `promtool` is installed. */
const hasPromtool = spawnSync("promtool", ["--version"]).status === 0

/** Returns the error output of promtool; empty if it exits with 0. */
const complaintOf = (...args: ReadonlyArray<string>): string => {
  const { status, stderr, stdout } = spawnSync("promtool", args, { encoding: "utf8" })
  return status === 0 ? "" : `${stdout}${stderr}`
}

describe("the rules for Prometheus", () => {
  it("have unique names, and link to a section that says what to do", () => {
    assert.lengthOf(new Set(rules.map(({ alert }) => alert)), rules.length)
    const anchors = new Set(
      [...page.matchAll(/^## (.*)$/gm)].map(([, heading = ""]) =>
        heading
          .toLowerCase()
          .replaceAll(/[^a-z -]/g, "")
          .replaceAll(" ", "-")
      )
    )
    for (const { annotations } of rules) {
      const anchor = annotations.runbook.split("#")[1] ?? ""
      assert.isTrue(anchors.has(anchor), `docs/operations.md has no section ${anchor}`)
    }
  })

  it.runIf(hasPromtool)("are accepted by promtool", () => {
    assert.strictEqual(complaintOf("check", "rules", file), "")
  })

  it.runIf(hasPromtool)("fire only when something is wrong", () => {
    const cases = fileURLToPath(new URL("prometheus-rules.test.yaml", import.meta.url))
    assert.strictEqual(complaintOf("test", "rules", cases), "")
  })
})
