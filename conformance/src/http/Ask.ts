/**
 * Requests beside the test: to the probe, the control URL and the ready URL; and connections that only show that something listens.
 */
import { UrlPolicy } from "@doorhook/core"
import { Effect } from "effect"
import { connect } from "node:net"
import type { Socket } from "node:net"

export const portOf = ({ port, protocol }: URL): number =>
  port === "" ? (protocol === "https:" ? 443 : 80) : Number(port)

/** Begins a connection to the host of a URL. */
export const socketTo = (url: URL): Socket => connect({ host: UrlPolicy.hostOf(url), port: portOf(url) })

/** Makes a connection and closes it. Fails if nothing accepts connections. */
export const accepts = (url: URL): Effect.Effect<void, Error> =>
  Effect.callback<void, Error>((resume) => {
    const socket = socketTo(url)
    socket.on("connect", () => {
      socket.destroy()
      resume(Effect.void)
    })
    socket.on("error", (error) => resume(Effect.fail(error)))
    return Effect.sync(() => socket.destroy())
  })
