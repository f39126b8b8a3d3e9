/**
 * Explains by its cause why a PostgreSQL database can't be used, and what to do.
 */
import type { TlsProblem } from "@doorhook/core"
import { codeOf, tlsProblemOf } from "@doorhook/core"
import { Predicate } from "effect"
import type { Migrator } from "effect/sql"
import { SqlError } from "effect/sql"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import { sqlStateOf } from "../StoreFailure.ts"

type Why = DatabaseUnusable["why"]
type Explained = readonly [Why, string]

/** By the code of an error of the network. */
const network: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "nothing listens at this host and port. Check that the server runs and listens on this address (listen_addresses), and the URL's host and port.",
  ENOTFOUND: "the host name has no address. Check the URL's host, and the name's DNS entries.",
  EAI_AGAIN: "the name server does not answer. Check this machine's DNS settings, and try again.",
  ETIMEDOUT:
    "nothing answers at this host and port. Check the URL's host and port, and that no firewall drops the connection.",
  EHOSTUNREACH: "there is no route to the host. Check the URL's host, and this machine's network.",
  ENETUNREACH: "there is no route to the host. Check the URL's host, and this machine's network.",
  ECONNRESET:
    "the connection was closed before the session began. Check the server's log, and that host and port are PostgreSQL's.",
  ENOENT: "there is no socket of a server in this folder. Check the URL's host and port, and that the server runs.",
  EACCES: "this process must not open the server's socket. Check the permissions of its folder."
}

/** By the cause of a failed TLS handshake. */
const tls: Readonly<Record<TlsProblem, string>> = {
  incomplete_chain:
    "the server's certificate is from an authority that is not trusted. Give the authority's PEM file as sslrootcert. If that file is right, the server does not send its intermediate certificate: complete ssl_cert_file.",
  unknown_authority:
    "the server's certificate is from an authority that is not trusted. Give the authority's PEM file as sslrootcert.",
  self_signed: "the server's certificate is self-signed. Give that certificate's PEM file as sslrootcert.",
  wrong_name:
    "the server's certificate is for another host name. Give a name in the certificate as host (hostaddr can give the address), or use sslmode=verify-ca, which does not check the name.",
  expired: "the server's certificate has expired. Renew it, and reload the server.",
  not_yet_valid: "the server's certificate is not valid yet. Check the clocks of this machine and of the server.",
  revoked: "the server's certificate has been revoked. Install a new one.",
  no_tls:
    "the server does not speak TLS there. Check host and port, and leave sslnegotiation=direct out before PostgreSQL 17.",
  no_agreement:
    "the server and this process have no version or cipher of TLS in common. Check the server's ssl_max_protocol_version and ssl_ciphers, and ssl_min_protocol_version and ssl_max_protocol_version in the URL.",
  client_certificate:
    "the server refuses the client certificate, or demands one. Give a certificate of an authority that the server trusts (its ssl_ca_file) as sslcert, and its key as sslkey."
}

/** Explains that no session could be started. */
const ofConnecting = (cause: unknown, said: string): string => {
  const code = codeOf(cause)
  const problem = tlsProblemOf(cause)
  if (problem !== null) return `no encrypted connection is possible: ${tls[problem]} (${code})`
  if (Object.hasOwn(network, code)) return `can't connect: ${network[code] ?? ""} (${code})`
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO)/.test(code)) {
    const reason = Predicate.hasProperty(cause, "reason") ? String(cause.reason) : said
    return `no encrypted connection is possible: TLS failed (${reason}). Check the server's log and its certificate.`
  }
  if (Predicate.isTagged(cause, "TlsUnusable")) return `no encrypted connection is possible: ${said}`
  if (said === "No username configured") {
    return "can't connect: the URL names no user. Write it as postgres://user:password@host/database."
  }
  if (said === "Connection timed out") return `can't connect: ${network["ETIMEDOUT"] ?? ""}`
  if (said === "Connection closed unexpectedly") return `can't connect: ${network["ECONNRESET"] ?? ""}`
  return `can't connect: ${said}. Check that the server runs.`
}

/** Explains a refused login by PostgreSQL's own words, which name user, database and address, but no password. */
const ofLogin = (code: string, said: string): string => {
  if (said === "The server requested password authentication") {
    return "the server asks for a password. Write it in the URL: postgres://user:password@host/database."
  }
  if (/client certificate|certificate authentication/.test(said)) {
    return `${tls.client_certificate} PostgreSQL reports: ${said}`
  }
  if (/no encryption|SSL off/.test(said)) {
    return `the server accepts this user only on an encrypted connection: use sslmode=require or stronger. PostgreSQL reports: ${said}`
  }
  return code === "28000"
    ? `the server does not let this user in: ${said}. Check user and database in the URL, and the server's pg_hba.conf.`
    : "the server refuses this user or password. Check both in the URL."
}

/** By how pgbouncer's message begins. All its messages have the same code. */
const pooler: Readonly<Record<string, string>> = {
  "unsupported startup parameter: options":
    "the pooler refuses options in the URL. Leave them out, or name options in its ignore_startup_parameters.",
  "no more connections allowed":
    "the pooler has no connection left. Raise its max_client_conn: each process of doorhook uses up to ten."
}

const explanationOf = ({ reason }: SqlError.SqlError): Explained => {
  const code = sqlStateOf(reason)
  const said = Predicate.isError(reason.cause) ? reason.cause.message : reason.message
  const ofPooler = Object.entries(pooler).find(([beginning]) => said.startsWith(beginning))
  if (ofPooler !== undefined) return ["refused", ofPooler[1]]
  if (code === "3D000") {
    return ["unreachable", "the server has no such database. Create it first (CREATE DATABASE), or choose another."]
  }
  if (code.startsWith("28") || reason._tag === "AuthenticationError") return ["refused", ofLogin(code, said)]
  if (code === "53300") return ["refused", "the server has no connection left. Raise its max_connections."]
  if (code === "42501") {
    return [
      "refused",
      `this user lacks a permission: ${said}. Allow it to create the schema doorhook, or create the schema for it.`
    ]
  }
  if (code === "57P03") return ["unreachable", `the server is starting or stopping (${said}). Try again in a moment.`]
  if (code === "") return ["unreachable", ofConnecting(reason.cause, said)]
  if (code.startsWith("08")) return ["unreachable", `can't connect (${said}). Check the server's log.`]
  return ["failed", `PostgreSQL reports: ${said}`]
}

/** Converts an error to one that explains the problem to an operator. `database` is the URL's name. */
export const explain = (database: string, error: SqlError.SqlError | Migrator.MigrationError): DatabaseUnusable => {
  const cause = error._tag === "SqlError" ? error : error.cause
  const [why, explanation]: Explained =
    cause instanceof SqlError.SqlError ? explanationOf(cause) : ["failed", error.message]
  return new DatabaseUnusable({ database, why, explanation, cause: error })
}
