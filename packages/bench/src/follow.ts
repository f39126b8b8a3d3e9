/**
 * A server whose clients follow events by stream: doorhook in a host, or a loop that writes to all open answers. Usage:
 * `follow.ts DATABASE`, or `follow.ts bare`. Prints its address.
 *
 * `/measure/publish?n=N` publishes a call with the data `{"n":N}`, and answers with the time before, in milliseconds. `/measure/memory` answers with the bytes of the process after a garbage collection.
 */
import { createDoorhook } from "doorhook"
import type { RequestListener, ServerResponse } from "node:http"
import { createServer } from "node:http"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { building, client, operatorKey } from "./harness/ServerProcess.ts"

const [database = ""] = process.argv.slice(2)

/** Milliseconds of a clock that all processes of the machine share. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6

interface Contender {
  readonly answer: RequestListener
  /** Publishes an event. Returns the time before. */
  readonly publish: (n: number) => Promise<number>
}

const bare = (): Contender => {
  const open = new Set<ServerResponse>()
  return {
    answer: (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(":\n\n")
      open.add(response)
      response.on("close", () => open.delete(response))
    },
    publish: async (n) => {
      const at = now()
      for (const response of open) response.write(`data: {"n":${n}}\n\n`)
      return at
    }
  }
}

const embedded = async (): Promise<Contender> => {
  const doorhook = await createDoorhook({
    database,
    directory: {
      client: (id) => ({ id, name: "Benchmarks", secret: client.secret, redirect_uris: [client.redirectUri] }),
      authenticate: () => ({ id: "admin" }),
      administers: () => true,
      isTenant: () => false
    },
    operatorKey,
    requestsPerMinute: "unlimited",
    streams: 100_000,
    streamsPerGrant: 100_000,
    allowTargets: ["127.0.0.0/8"]
  })
  return {
    answer: doorhook.node,
    publish: async (n) => {
      // Lines may come before `publish` returns.
      const at = now()
      await doorhook.publish({ resource_type: "call", action: "create", building_id: building, data: { n } })
      return at
    }
  }
}

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

const { answer, publish } = database === "bare" ? bare() : await embedded()

const memory = (): string => {
  collectGarbage()
  const { external, heapUsed, rss } = process.memoryUsage()
  return JSON.stringify({ heap: heapUsed + external, rss })
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://127.0.0.1")
  if (pathname === "/measure/publish")
    void publish(Number(searchParams.get("n"))).then((at) => response.end(String(at)))
  else if (pathname === "/measure/memory") response.end(memory())
  else answer(request, response)
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  const address = server.address()
  process.stdout.write(`http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : ""}\n`)
})
