/**
 * Receivers that break TLS, and one that works.
 */
import { createSecureContext, TLSSocket } from "node:tls"
import type { SecureContextOptions } from "node:tls"
import type { Authority, Certificate } from "./Certificates.ts"
import { makeAuthority, makeSelfSigned } from "./Certificates.ts"
import type { Behaviour } from "./RawReceiver.ts"
import { answers, answersAndEnds, ok } from "./RawReceiver.ts"

/** Runs a behaviour over TLS. */
export const secured = (
  certificate: Certificate,
  behave: Behaviour,
  options: SecureContextOptions & { readonly requestCert?: boolean } = {}
): Behaviour => {
  const { requestCert = false, ...context } = options
  const secureContext = createSecureContext({ ...certificate, ...context })
  return (socket) => {
    const secure = new TLSSocket(socket, {
      isServer: true,
      secureContext,
      requestCert,
      rejectUnauthorized: requestCert,
      // Selects HTTP/2 if the client offers it, although the response is HTTP/1.1.
      ALPNProtocols: ["h2", "http/1.1"]
    })
    // Closes gracefully, so that the TLS alert with the reason still arrives.
    secure.on("error", () => socket.end())
    behave(secure)
  }
}

const healthy = answers(ok)

/** Responds correctly, with a certificate that clients accept if they trust the authority. */
export const isSecure = (authority: Authority): Behaviour => secured(authority.issue("127.0.0.1"), healthy)

export const hasExpired = (authority: Authority): Behaviour => secured(authority.issue("127.0.0.1", "expired"), healthy)

export const isNotYetValid = (authority: Authority): Behaviour =>
  secured(authority.issue("127.0.0.1", "not yet valid"), healthy)

/** Sends its own certificate, but not that of the authority in between. */
export const lacksIntermediate = (authority: Authority): Behaviour =>
  secured(authority.makeIntermediate().issue("127.0.0.1"), healthy)

/** Sends a whole chain of certificates that leads to an authority that clients don't know. */
export const isFromUnknownAuthority = (): Behaviour => {
  const intermediate = makeAuthority("Unknown authority").makeIntermediate()
  const { cert, key } = intermediate.issue("127.0.0.1")
  return secured({ cert: cert + intermediate.cert, key }, healthy)
}

export const isForAnotherHost = (authority: Authority): Behaviour => secured(authority.issue("other.example"), healthy)

export const isSelfSigned = (): Behaviour => secured(makeSelfSigned("127.0.0.1"), healthy)

/** Requires a client certificate. In TLS 1.3 the refusal arrives only after the client's handshake has ended. */
export const asksForCertificate = (authority: Authority): Behaviour =>
  secured(authority.issue("127.0.0.1"), healthy, { requestCert: true })

/** Supports only obsolete versions of TLS. */
export const speaksOldTls = (authority: Authority): Behaviour =>
  secured(authority.issue("127.0.0.1"), healthy, {
    minVersion: "TLSv1",
    maxVersion: "TLSv1.1",
    ciphers: "DEFAULT@SECLEVEL=0"
  })

/** Speaks plain HTTP. */
export const speaksPlainHttp: Behaviour = (socket) => {
  socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"))
  socket.resume()
}

/** Begins to answer the handshake, then stops. */
export const stopsInHandshake: Behaviour = (socket) => {
  socket.once("data", () => socket.write(Buffer.from("160303400002", "hex")))
  socket.resume()
}

export const resetsInHandshake: Behaviour = (socket) => {
  socket.once("data", () => socket.resetAndDestroy())
  socket.resume()
}

export const endsInHandshake: Behaviour = (socket) => {
  socket.once("data", () => socket.end())
  socket.resume()
}

/** Answers plain HTTP with the alert of a server that expects TLS. */
export const sendsAlert = answersAndEnds(Buffer.from("15030100020246", "hex"))
