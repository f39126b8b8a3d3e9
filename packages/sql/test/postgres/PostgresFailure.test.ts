/**
 * A PostgreSQL database that can't be used is explained by the cause that was seen.
 */
import { assert, it } from "@effect/vitest"
import { SqlError } from "effect/sql"
import { explain } from "../../src/postgres/PostgresFailure.ts"

const explained = (cause: Error): string =>
  explain(
    "postgres://db/doors",
    new SqlError.SqlError({
      reason: new SqlError.ConnectionError({ cause, message: "failed", operation: "connect" })
    })
  ).message

it.each([
  ["ECONNREFUSED", /nothing listens at this host and port/],
  ["ENOTFOUND", /the host name has no address/],
  ["EAI_AGAIN", /the name server does not answer/],
  ["ETIMEDOUT", /nothing answers at this host and port/],
  ["EHOSTUNREACH", /no route to the host/],
  ["ECONNRESET", /closed before the session began/],
  ["ENOENT", /no socket of a server in this folder/],
  ["EACCES", /must not open the server's socket/],
  ["CERT_NOT_YET_VALID", /not valid yet\. Check the clocks/],
  ["CERT_REVOKED", /has been revoked/],
  ["ERR_SSL_WRONG_VERSION_NUMBER", /does not speak TLS there/],
  ["ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", /no version or cipher of TLS in common/],
  ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", /the client certificate, or demands one/],
  ["ERR_SSL_UNHEARD_OF", /TLS failed \(it broke\)/],
  ["28P01", /refuses this user or password/],
  ["57P03", /is starting or stopping/],
  ["53300", /has no connection left/],
  ["08P01", /can't connect \(it broke\)/]
])("%s", (code, message) => {
  const text = explained(Object.assign(new Error("it broke"), { code }))
  assert.match(text, message)
  assert.match(text, /^Can't use postgres:\/\/db\/doors: /)
})

it("errors of the client without a code", () => {
  assert.match(explained(new Error("Connection timed out")), /nothing answers at this host and port/)
  assert.match(explained(new Error("No username configured")), /names no user.*user:password@host\/database\.$/)
  assert.match(explained(new Error("Connection closed unexpectedly")), /closed before the session began/)
})
