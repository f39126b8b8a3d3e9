/**
 * Follows the sections of the page about protecting an API that have an app: their files and commands, on another port.
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
const page = readFileSync(join(root, "docs/protect-your-api.md"), "utf8")
const sectionOf = (title: string): string => new RegExp(`^## ${title}[^]*?(?=^## )`, "m").exec(page)?.[0] ?? ""
const section = sectionOf("Try it")
const blockOf = (language: string, text = section): string =>
  new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "m").exec(text)?.[1] ?? ""

/** Starts an app, and returns a function that runs a script against it. */
const startApp = Effect.fnUntraced(function* (source: string) {
  const folder = yield* temporaryFolder
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  writeFileSync(join(folder, "package.json"), '{"type":"module"}')
  writeFileSync(join(folder, "app.js"), source)
  const port = String(yield* Effect.promise(freePort))
  const app = yield* startNode([join(folder, "app.js")], { env: { PORT: port } })
  yield* Effect.promise(() => app.printed(/listening on http/))
  return (script: string) =>
    Effect.promise(async () => {
      const { stdout } = await promisify(execFile)("bash", [
        "-ec",
        script.replaceAll("localhost:4000", `localhost:${port}`)
      ])
      return stdout
    })
})

describe("the page about protecting an API", () => {
  live("leads to a route that opens only with a token for this API and with the scope", function* () {
    const run = yield* startApp(blockOf("js"))
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
  live("lets an assistant open a door with a token for it, after consent", function* () {
    const assistants = sectionOf("Let assistants use it")
    const [added = ""] = blockOf("js", assistants).split("const doorhook =")
    const source = added + blockOf("js").replace("createDoorhook({", "createDoorhook({\n  ...assistants,")
    const run = yield* startApp(source)
    const commands = blockOf("sh", assistants)
    assert.include(yield* run(commands), '"structuredContent":{"opened":"7"}')
    assert.include(yield* run(commands.replace('"door":"7"', '"door":"8"')), "There is no door 8.")
    assert.include(yield* run(commands.replace(',"confirm":true', "")), "Open door 7? Ask the user.")
    assert.include(yield* run(commands.replace("scope=doors:open%20public", "scope=public")), "insufficient_scope")
    assert.include(yield* run(commands.replace("4000/mcp |", "4000/v4 |")), "unauthorized")
  })
})
