/**
 * What the console and the portal have to show: an embedded doorhook on a server of its own, receivers of every temper, and
 * an integration for each.
 */
import { Effect } from "effect"
import type { Doorhook } from "doorhook"
import { once } from "node:events"
import { createServer } from "node:http"
import type { RequestListener } from "node:http"
import { createDoorhook } from "doorhook"
import { directory, tokenFrom } from "../harness/Embedded.ts"
import { callApi, integrationDocument } from "../harness/ThirdParty.ts"

export const operatorKey = "the-operator-of-these-tests"

/** What a receiver may answer that must not become a part of a page. */
export const hostile = `</pre><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">{"error":"no such door"}`

/** How each receiver answers, by the path that it listens on. */
const tempers: Readonly<Record<string, (nth: number) => readonly [status: number, body: string]>> = {
  "/good": () => [200, "taken"],
  "/flaky": (nth) => (nth % 3 === 0 ? [503, "busy, come back later"] : [200, "taken"]),
  "/broken": () => [500, hostile],
  "/gone": (nth) => (nth === 1 ? [410, "nobody lives here"] : [200, "back again"]),
  "/moody": (nth) => (nth === 1 ? [500, hostile] : [200, "taken"])
}

const listen = async (handle: RequestListener) => {
  const server = createServer(handle).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, "close")
  }
  return { close, url: `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}` }
}

/** What every receiver and address of a stage has in it, for tests; pictures are taken without. */
interface Wording {
  readonly complaint: string
  readonly query: string
}
const malicious: Wording = { complaint: hostile, query: "?<img/src=x/onerror=window.hacked=1>" }
export const harmless: Wording = { complaint: '{"error":"no such door","door":11}', query: "" }

/** Starts it all. Integrations are named by the path of their receiver. */
export const openConsoleStage = async ({ complaint, query }: Wording = malicious) => {
  const calls = new Map<string, number>()
  const bodies: Array<{ readonly path: string; readonly body: string }> = []
  const receivers = await listen((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")))
    request.on("end", () => {
      const [path = ""] = (request.url ?? "").split("?")
      bodies.push({ path, body })
      const nth = (calls.get(path) ?? 0) + 1
      calls.set(path, nth)
      const [status, text] = tempers[path]?.(nth) ?? [404, "no such path"]
      response.writeHead(status, { "content-type": "text/html" }).end(text === hostile ? complaint : text)
    })
  })
  let doorhook: Doorhook | null = null
  const host = await listen((request, response) => doorhook?.node(request, response))
  doorhook = await createDoorhook({
    database: "memory",
    directory,
    publicUrl: host.url,
    operatorKey,
    allowTargets: ["127.0.0.0/8"],
    retry: { access_log: ["1s", "1h"] }
  })
  const token = await Effect.runPromise(tokenFrom(host.url))
  const integrations: Record<string, string> = {}
  const integrate = async (path: string, types: ReadonlyArray<string> = ["access_log"]) => {
    const url = `${receivers.url}${path}${query}`
    const created = await callApi(
      host.url,
      token,
      "POST",
      "/v4/buildings/1/integrations",
      integrationDocument(url, types)
    )
    const text = await created.text()
    const [, id = ""] = /"id":"(\d+)"/.exec(text) ?? []
    if (id === "") throw new Error(text)
    return (integrations[path] = id)
  }
  const running = doorhook
  return {
    doorhook: running,
    url: host.url,
    integrations,
    integrate,
    /** What receivers got at a path. */
    bodiesAt: (path: string) => bodies.filter((one) => one.path === path).map(({ body }) => body),
    /** Publishes so many events, with names that must stay texts. */
    publish: (count: number) =>
      running.publish(
        Array.from({ length: count }, (_, index) => ({
          resource_type: "access_log" as const,
          action: "create" as const,
          building_id: 1,
          data: { id: index + 1, name: `</pre><script>window.hacked = 1</script>` }
        }))
      ),
    /** Resolves when a delivery to an integration is in a state. */
    until: async (id: string, state: string) => {
      for (;;) {
        const { deliveries } = await running.deliveries.list({ integration_id: id, state, limit: 1 })
        if (deliveries[0] !== undefined) return deliveries[0].id
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    close: async () => {
      await running.close()
      await host.close()
      await receivers.close()
    }
  }
}

export type ConsoleStage = Awaited<ReturnType<typeof openConsoleStage>>
