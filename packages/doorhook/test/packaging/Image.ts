/**
 * Tests the Dockerfile without a container engine: runs its steps on the packed archives, in temporary folders instead
 * of the image's folders.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { cpSync, existsSync, globSync, readFileSync } from "node:fs"
import { userInfo } from "node:os"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { freePort } from "@doorhook/testkit/ListeningServer"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import { copyEffect, reachingRegistry } from "./Release.ts"

const run = promisify(execFile)

/** The instructions in both stages of the Dockerfile, each with its name and arguments. */
const instructions = readFileSync(new URL("../../../../docs/deploy/Dockerfile", import.meta.url), "utf8")
  .replaceAll("\\\n", " ")
  .split("\n")
  .flatMap((line) => {
    const [, name, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    return name === undefined || rest === undefined ? [] : [{ name, rest }]
  })

const allOf = (name: string): ReadonlyArray<string> =>
  instructions.filter((one) => one.name === name).map(({ rest }) => rest)

const argumentsOf = (text = "[]") => Schema.decodeUnknownSync(Schema.Array(Schema.String))(JSON.parse(text))

/** Whether a step was already done when the archives in `packed` were made. */
const isDone = (command: string): boolean => /^(npm ci|mkdir \/packed|npm run pack)/.test(command)

/** Tests the image with the archives in the folder `packed`. */
export const describeImage = (packed: string): void => {
  it.live("builds, runs, is healthy, and stops", (context) =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const app = join(folder, "app")
        copyEffect(app)
        for (const archive of globSync(join(packed, "*.tgz")))
          cpSync(archive, join(folder, "packed", basename(archive)))
        const { gid, uid } = userInfo()
        const here = (text: string): string =>
          text.replaceAll(/(?<=^| )\/(packed|data|app)/g, `${folder}/$1`).replaceAll("node:node", `${uid}:${gid}`)

        const [first = "", second = ""] = allOf("RUN")
        const steps = first.split(/ +&& +/).filter((command) => !isDone(command))
        assert.deepStrictEqual(allOf("WORKDIR"), ["/build", "/app"])
        const made = run("bash", ["-c", `set -e\n${here([...steps, second].join("\n"))}`], {
          cwd: app,
          env: { ...process.env, npm_config_prefer_offline: "true" }
        })
        if (!(yield* Effect.promise(() => reachingRegistry("the image", made)))) return context.skip()
        assert.isFalse(existsSync(join(folder, "packed")))
        assert.deepStrictEqual(
          globSync(join(app, "node_modules/@doorhook/*"))
            .map((name) => basename(name))
            .toSorted(),
          ["core", "node", "server", "sql"]
        )

        const port = String(yield* Effect.promise(freePort))
        const [program, ...entry] = argumentsOf(allOf("ENTRYPOINT")[0])
        assert.strictEqual(program, "node")
        const [command] = allOf("CMD")
        const args = [...entry, ...argumentsOf(command).map(here), "--port", port]
        const service = yield* startNode(args, { cwd: app, env: { NODE_ENV: "production" } })
        yield* Effect.promise(() => service.printed(/doorhook listening on/))
        const [healthcheck = ""] = allOf("HEALTHCHECK")
        const checks = argumentsOf(healthcheck.replace(/^CMD /, "").replace("4000", port)).slice(1)
        const isHealthy = Effect.flatMap(startNode(checks), ({ finished }) =>
          Effect.promise(async () => (await finished).code === 0)
        )
        assert.isTrue(yield* isHealthy)
        assert.isTrue(existsSync(join(folder, "data/doorhook.db")))
        service.child.kill("SIGTERM")
        assert.strictEqual((yield* Effect.promise(() => service.finished)).code, 0)
        assert.isFalse(yield* isHealthy)
      })
    )
  )
}
