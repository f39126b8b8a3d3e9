/**
 * A browser's own `EventSource` follows the events of a building behind nginx, which adds the token that `EventSource`
 * can't send, and goes on where it was when nginx ends its connections.
 */
import { operatorKey, startService } from "@doorhook/testkit/Doorhook"
import { freePort } from "@doorhook/testkit/ListeningServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, writeFileSync } from "node:fs"
import { promisify } from "node:util"
import { eventually } from "../harness/Eventually.ts"
import { directory, tokensOf } from "../harness/KnownDirectory.ts"
import { callApi } from "../harness/ThirdParty.ts"
import { hasBrowser, openVisitors } from "./Visitors.ts"

const nginx = "/usr/sbin/nginx"
const hasNginx = existsSync(nginx)
if (!hasNginx) process.stderr.write(`skipped: streams behind nginx, because ${nginx} is not installed\n`)

/** Starts nginx with its default buffering until the scope ends. `reload` ends its open connections. */
const startNginx = Effect.fnUntraced(function* (behind: string, token: string) {
  const folder = yield* temporaryFolder
  const port = yield* Effect.promise(freePort)
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
  writeFileSync(
    `${folder}/nginx.conf`,
    `${process.getuid?.() === 0 ? "user root;" : ""} daemon off; pid ${folder}/pid; error_log ${folder}/error.log; worker_shutdown_timeout 1s; events {}
    http {
      access_log off; ${kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ")}
      server {
        listen 127.0.0.1:${port};
        location = / { default_type text/html; return 200 "<!doctype html><title>follower</title>"; }
        location / { proxy_pass ${behind}; proxy_set_header Authorization "Bearer ${token}"; }
      }
    }`
  )
  const run = ["-c", `${folder}/nginx.conf`, "-p", folder]
  yield* Effect.acquireRelease(
    Effect.sync(() => spawn(nginx, run, { stdio: "ignore" })),
    (child) =>
      Effect.promise(async () => {
        child.kill("SIGTERM")
        if (child.exitCode === null) await once(child, "exit")
      })
  )
  const url = `http://127.0.0.1:${port}`
  const answers = Effect.promise(() =>
    fetch(url)
      .then(({ ok }) => ok)
      .catch(() => false)
  )
  yield* eventually("nginx answers", answers, (ok) => ok)
  return { url, reload: () => promisify(execFile)(nginx, [...run, "-s", "reload"]) }
})

describe.skipIf(!hasBrowser || !hasNginx)("EventSource in a browser", () => {
  it.live("gets each event once through nginx, in order, also when its connection is ended", () =>
    Effect.gen(function* () {
      const service = yield* startService(["--database", "memory", "--directory", directory])
      const { access_token } = yield* Effect.promise(() => tokensOf(service.url))
      const { reload, url } = yield* startNginx(service.url, access_token)
      const { page: openPage } = yield* openVisitors
      const { page } = yield* Effect.promise(() => openPage())
      const publish = (number: number) =>
        Effect.promise(async () => {
          const event = { resource_type: "call", action: "create", building_id: 1, data: { number } }
          assert.strictEqual((await callApi(service.url, operatorKey, "POST", "/operator/events", event)).status, 202)
        })
      yield* Effect.promise(() => page.goto(url))
      // A text, because the tests' types have no browser.
      yield* Effect.promise(() =>
        page.evaluate(`new Promise((resolve) => {
          const source = new EventSource("/v4/buildings/1/events")
          const show = (text) => document.body.append(text + " ")
          source.addEventListener("event", ({ data }) => show(JSON.parse(data).attributes.event.data.number))
          source.addEventListener("open", () => resolve(show("open")))
        })`)
      )
      const shown = Effect.promise(async () => (await page.innerText("body")).trim().split(" "))
      const numbers = Effect.map(shown, (all) => all.filter((each) => each !== "open").join())
      for (const number of [1, 2, 3]) yield* publish(number)
      yield* eventually("three events", numbers, (text) => text === "1,2,3")
      yield* Effect.promise(reload)
      for (const number of [4, 5]) yield* publish(number)
      yield* eventually("a second connection", shown, (all) => all.filter((each) => each === "open").length === 2)
      yield* publish(6)
      yield* eventually("all events", numbers, (text) => text === "1,2,3,4,5,6")
    })
  )
})
