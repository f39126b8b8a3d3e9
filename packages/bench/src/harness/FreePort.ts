/**
 * A port on 127.0.0.1 that nobody listens on now.
 */
import { once } from "node:events"
import { createServer } from "node:net"

export const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const address = probe.address()
  probe.close()
  await once(probe, "close")
  return address !== null && typeof address === "object" ? address.port : 0
}
