/**
 * What a connection to a PostgreSQL server trusts, and what it shows the server: the files of `sslrootcert`, `sslcert`
 * and `sslkey`, or libpq's default files in the home folder (PostgreSQL documentation, "SSL Support").
 */
import { codeOf } from "@doorhook/core"
import { Data, Predicate, Redacted } from "effect"
import { createPrivateKey, X509Certificate } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import * as Tls from "node:tls"
import type { TlsSettings } from "./PostgresUrl.ts"

/** Encryption is impossible for a reason that no code of Node.js or OpenSSL names. The message says what to do. */
export class TlsUnusable extends Data.TaggedError("TlsUnusable")<{ readonly message: string }> {}

export interface Trust {
  readonly context: Tls.SecureContext
  /** Whether the server's certificate must be from a trusted authority. */
  readonly isVerified: boolean
}

const messageOf = (error: unknown): string => (Predicate.isError(error) ? error.message : String(error))

/** Returns the given file, or libpq's default file if it exists. */
const fileOr = (given: string | null, name: string): string | null => {
  if (given !== null) return given
  const [folder, base] =
    process.platform === "win32" ? ["postgresql", process.env["APPDATA"] ?? ""] : [".postgresql", homedir()]
  const file = join(base, folder, name)
  return existsSync(file) ? file : null
}

const read = (parameter: string, file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch (cause) {
    throw new TlsUnusable({
      message: `${parameter}: ${file} can't be read (${codeOf(cause)}). Check the path and the permissions.`
    })
  }
}

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Reads PEM certificates. OpenSSL would ignore a file without any. */
const readCertificates = (parameter: string, file: string): string => {
  const text = read(parameter, file)
  const found = text.match(pem) ?? []
  try {
    for (const certificate of found) void new X509Certificate(certificate)
  } catch (cause) {
    throw new TlsUnusable({ message: `${parameter}: ${file} has a damaged certificate (${messageOf(cause)}).` })
  }
  if (found.length > 0) return text
  throw new TlsUnusable({ message: `${parameter}: ${file} has no PEM certificate (-----BEGIN CERTIFICATE-----).` })
}

/** The operating system's authorities, or Node.js's own on a system without any, and those of NODE_EXTRA_CA_CERTS. */
const systemAuthorities = (): Array<string> => {
  const system = Tls.getCACertificates("system")
  return [...(system.length > 0 ? system : Tls.getCACertificates("bundled")), ...Tls.getCACertificates("extra")]
}

/** Returns the trusted authorities; null to trust every server, as libpq does without a file in the weaker modes. */
const authoritiesOf = ({ mode, rootCert }: TlsSettings): Array<string> | null => {
  if (rootCert === "system") return systemAuthorities()
  const file = fileOr(rootCert, "root.crt")
  if (file !== null) return [readCertificates("sslrootcert", file)]
  if (mode !== "verify-ca" && mode !== "verify-full") return null
  throw new TlsUnusable({
    message: `sslmode=${mode} needs the authority of the server's certificate: give its PEM file as sslrootcert=FILE, or sslrootcert=system with sslmode=verify-full for a certificate of a public authority.`
  })
}

interface OwnCertificate {
  readonly cert: string
  readonly key: string
  readonly passphrase?: string
}

const ownCertificate = ({ cert, key, keyPassword }: TlsSettings): OwnCertificate | null => {
  const file = fileOr(cert, "postgresql.crt")
  if (file === null) {
    if (key === null) return null
    throw new TlsUnusable({ message: "sslkey is given without sslcert: give the client certificate's file, too." })
  }
  const keyFile = fileOr(key, "postgresql.key")
  if (keyFile === null) throw new TlsUnusable({ message: "sslcert is given without sslkey: give the key's file, too." })
  return {
    cert: readCertificates("sslcert", file),
    key: read("sslkey", keyFile),
    ...(keyPassword !== null && { passphrase: Redacted.value(keyPassword) })
  }
}

/** A wrong password can decrypt to other bytes, and OpenSSL names what it makes of those: so the key is tried alone. */
const isLocked = ({ key, passphrase }: OwnCertificate): boolean => {
  if (!key.includes("ENCRYPTED")) return false
  try {
    void createPrivateKey({ key, ...(passphrase !== undefined && { passphrase }) })
    return false
  } catch {
    return true
  }
}

/** Explains why OpenSSL refuses a client certificate or its key. */
const explainContext = (error: unknown, own: OwnCertificate | null): TlsUnusable => {
  if (own !== null && isLocked(own)) {
    return new TlsUnusable({
      message:
        own.passphrase === undefined
          ? "sslkey: the key is encrypted. Give its password as sslpassword, or a key without a password."
          : "sslpassword: this password does not decrypt the key of sslkey."
    })
  }
  if (codeOf(error).includes("KEY_VALUES_MISMATCH")) {
    return new TlsUnusable({ message: "sslkey: the key does not belong to the certificate of sslcert." })
  }
  return new TlsUnusable({
    message: `sslcert, sslkey or sslcrl can't be used (${messageOf(error)}). They must be PEM files.`
  })
}

/** Reads the files. They are read for each connection, because certificates are renewed while a process runs. */
export const readTrust = (tls: TlsSettings): Trust => {
  const ca = authoritiesOf(tls)
  const own = ownCertificate(tls)
  const crl = tls.crl === null ? {} : { crl: read("sslcrl", tls.crl) }
  try {
    const context = Tls.createSecureContext({
      ...own,
      ...crl,
      ...(ca !== null && { ca }),
      ...(tls.minVersion !== null && { minVersion: tls.minVersion }),
      ...(tls.maxVersion !== null && { maxVersion: tls.maxVersion })
    })
    return { context, isVerified: ca !== null }
  } catch (error) {
    throw explainContext(error, own)
  }
}
