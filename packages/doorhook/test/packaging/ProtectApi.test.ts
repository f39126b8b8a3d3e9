/**
 * Follows the first section of the page about protecting an API: its file and its commands, on another port.
 */
import { assert, describe } from "@effect/vitest"
import { freePort } from "@doorhook/testkit/ListeningServer"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { live } from "../harness/Embedded.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const [section = ""] =
  /^## Try it[^]*?(?=^## )/m.exec(readFileSync(join(root, "docs/protect-your-api.md"), "utf8")) ?? []
const blockOf = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "m").exec(section)?.[1] ?? ""

describe("the page about protecting an API", () => {
  live("leads to a route that opens only with a token for this API and with the scope", function* () {
    const folder = yield* temporaryFolder
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
    writeFileSync(join(folder, "package.json"), '{"type":"module"}')
    writeFileSync(join(folder, "app.js"), blockOf("js"))
    const port = String(yield* Effect.promise(freePort))
    const app = yield* startNode([join(folder, "app.js")], { env: { PORT: port } })
    yield* Effect.promise(() => app.printed(/listening on http/))

    const run = (script: string) =>
      Effect.promise(async () => {
        const { stdout } = await promisify(execFile)("bash", [
          "-ec",
          script.replaceAll("localhost:4000", `localhost:${port}`)
        ])
        return stdout
      })
    const commands = blockOf("sh")
    const [, expected = ""] = /The answer is `([^`]+)`/.exec(section) ?? []
    assert.strictEqual(yield* run(commands), expected)
    const status = (script: string) => run(script.replaceAll("curl -s -X", "curl -s -o /dev/null -w '%{http_code}' -X"))
    assert.strictEqual(yield* status(commands), "200")
    assert.strictEqual(yield* status(commands.replace("doors/7/open", "doors/8/open")), "404")
    assert.strictEqual(yield* status(commands.replace("-d scope=doors:open", "")), "401")
    assert.strictEqual(yield* status(commands.replace(/-d resource=\S+/, "")), "401")
    assert.strictEqual(yield* status(commands.replace(/-H "Auth.*"/, "")), "401")
    const atApi = commands.replace(
      "-X POST http://localhost:4000/doors/7/open",
      "-X GET http://localhost:4000/v4/buildings"
    )
    assert.strictEqual(yield* status(atApi), "401")
  })
})
