/**
 * Follows the tutorial literally: its files, commands and responses. Replaces only ports and the values that a reader
 * fills in.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { live } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { freePort } from "@doorhook/testkit/ListeningServer"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import { runHere, startHere } from "../harness/InProcess.ts"
import { logIn } from "../harness/LoginForm.ts"

const page = readFileSync(new URL("../../../../docs/tutorial.md", import.meta.url), "utf8")
const blocksOf = (language: string): ReadonlyArray<string> =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm"))].map(([, text = ""]) => text)

/** Returns the command block that contains a text. */
const commandsWith = (part: string): string => blocksOf("sh").find((text) => text.includes(part)) ?? ""

/** Returns the arguments of the only `npx doorhook` line that contains a text. */
const argumentsOf = (part: string): ReadonlyArray<string> =>
  (
    commandsWith(part)
      .split("\n")
      .find((line) => line.includes(part)) ?? ""
  )
    .replace("npx doorhook ", "")
    .split(" ")

const memberOf = (text: string, name: string): string => new RegExp(`"${name}": ?"([^"]+)"`).exec(text)?.[1] ?? ""

describe("the tutorial", () => {
  live("leads from an empty folder to a webhook, and to a delayed one", function* () {
    const folder = yield* temporaryFolder
    writeFileSync(join(folder, "directory.json"), blocksOf("json")[0] ?? "")
    writeFileSync(
      join(folder, "receiver.mjs"),
      (blocksOf("js")[0] ?? "").replace(
        'listen(9000, "127.0.0.1")',
        'listen(process.env.PORT, "127.0.0.1", () => console.log("listening"))'
      )
    )
    const [, key = ""] = /DOORHOOK_OPERATOR_KEY=(\S+)/.exec(page) ?? []
    const env = { DOORHOOK_OPERATOR_KEY: key }
    const inFolder = (args: ReadonlyArray<string>) =>
      args.map((argument) => (argument === "directory.json" ? join(folder, argument) : argument))
    const database = ["--database", join(folder, "doorhook.db")]

    const looked = yield* runHere([...inFolder(argumentsOf("doorhook doctor")), ...database], env)
    assert.strictEqual(looked.code, 0, looked.stdout)
    const serving = [...inFolder(argumentsOf("doorhook serve")), ...database, "--port", "0"]
    const { ready } = yield* startHere(serving, /doorhook listening on (http:\S+)/, env)
    const [, url = ""] = ready

    const port = String(yield* Effect.promise(freePort))
    const startReceiver = Effect.tap(startNode([join(folder, "receiver.mjs")], { env: { PORT: port } }), (started) =>
      Effect.promise(() => started.printed(/listening/))
    )
    const receiver = yield* startReceiver

    const authorize = (blocksOf("text")[0] ?? "").trim().replace("http://127.0.0.1:4000", url)
    const answer = yield* Effect.promise(() => logIn(new URL(authorize), "ada@example.com", "correct horse"))
    const location = answer.headers.get("location")
    const shown = yield* Effect.promise(async () =>
      location === null
        ? answer.text()
        : (
            await fetch(new URL(location, url), {
              headers: {
                cookie: answer.headers
                  .getSetCookie()
                  .map((set) => set.split(";")[0])
                  .join("; ")
              }
            })
          ).text()
    )
    const [, code = ""] = /id="authorization_code"[^>]*>([^<]+)</.exec(shown) ?? []

    const put = (text: string, token: string) =>
      text
        .replaceAll("http://127.0.0.1:4000", url)
        .replaceAll("127.0.0.1:9000", `127.0.0.1:${port}`)
        .replace("THE_CODE", code)
        .replace("THE_ACCESS_TOKEN", token)
    const run = (part: string, token = "") =>
      Effect.promise(async () => (await promisify(execFile)("bash", ["-c", put(commandsWith(part), token)])).stdout)
    const token = memberOf(yield* run("/oauth/token"), "access_token")
    assert.match(memberOf(yield* run("/v4/buildings/1/integrations", token), "signing_secret"), /^whsec_/)
    const published = yield* run("/operator/events")
    assert.match(published, /"deliveries":1/)
    yield* Effect.promise(() => receiver.printed(new RegExp(memberOf(published, "id"))))
    assert.include(receiver.stdout(), JSON.stringify(JSON.parse(blocksOf("json")[1] ?? "")))

    receiver.child.kill("SIGINT")
    yield* Effect.promise(() => receiver.finished)
    const late = memberOf(yield* run("/operator/events"), "id")
    const at = ["--url", url]
    yield* eventually("it is tried again", runHere([...argumentsOf("--state retrying"), ...at], env), ({ stdout }) =>
      stdout.includes("dlv_2")
    )
    const shownDelivery = yield* runHere([...argumentsOf("deliveries show"), ...at], env)
    assert.include(shownDelivery.stdout, late)
    assert.include(shownDelivery.stdout, "connection_refused")
    const again = yield* startReceiver
    yield* runHere([...argumentsOf("deliveries resend"), ...at], env)
    yield* Effect.promise(() => again.printed(new RegExp(late)))
  })
})
