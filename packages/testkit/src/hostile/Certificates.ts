/**
 * Makes a certificate authority for tests, and certificates signed by it. The DER encoding of X.509 (RFC 5280) is
 * implemented here, because Node.js can sign data but not make certificates.
 */
import type { KeyObject } from "node:crypto"
import { generateKeyPairSync, randomBytes, sign } from "node:crypto"
import { isIP } from "node:net"

/** A certificate and its key, in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

const lengthOf = (size: number): ReadonlyArray<number> => {
  if (size < 0x80) return [size]
  const bytes = size < 0x100 ? [size] : [size >> 8, size & 0xff]
  return [0x80 | bytes.length, ...bytes]
}

const der = (tag: number, ...contents: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body.length)]), body])
}

const sequence = (...contents: ReadonlyArray<Uint8Array>): Buffer => der(0x30, ...contents)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"))
const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text))
const octets = (content: Uint8Array): Buffer => der(0x04, content)
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.from([0]), content)
const isTrue = der(0x01, Buffer.from([0xff]))

/** Encodes milliseconds since the epoch as `20260102030405Z`. */
const time = (millis: number): Buffer =>
  der(0x18, Buffer.from(`${new Date(millis).toISOString().slice(0, 19).replaceAll(/[-T:]/g, "")}Z`))

const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"))
const nameOf = (commonName: string): Buffer => sequence(der(0x31, sequence(oid("550403"), utf8(commonName))))

const extension = (id: string, value: Buffer, ...critical: ReadonlyArray<Buffer>): Buffer =>
  sequence(oid(id), ...critical, octets(value))

const subjectAltName = (host: string): Buffer => {
  const name =
    isIP(host) === 4 ? der(0x87, Buffer.from(host.split(".").map(Number))) : der(0x82, Buffer.from(host, "ascii"))
  return extension("551d11", sequence(name))
}

const isAuthority = extension("551d13", sequence(isTrue), isTrue)

const year = 365 * 86_400_000

interface Subject {
  /** Host name or IPv4 address; null for an authority. */
  readonly host: string | null
  readonly name: string
  readonly publicKey: KeyObject
  /** Default: valid now. */
  readonly validity?: Validity | undefined
}

type Validity = "expired" | "not yet valid"

const signed = (subject: Subject, issuer: { readonly name: string; readonly privateKey: KeyObject }): string => {
  const now = Date.now()
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1]), randomBytes(8)),
    ecdsaWithSha256,
    nameOf(issuer.name),
    sequence(
      time(subject.validity === "not yet valid" ? now + year / 2 : now - 2 * year),
      time(subject.validity === "expired" ? now - year : now + year)
    ),
    nameOf(subject.name),
    subject.publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(subject.host === null ? isAuthority : subjectAltName(subject.host)))
  )
  const certificate = sequence(content, ecdsaWithSha256, bits(sign("sha256", content, issuer.privateKey)))
  return `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64")}\n-----END CERTIFICATE-----\n`
}

const newKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" })

const pem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString()

/** A private certificate authority. */
export interface Authority {
  readonly cert: string
  /** Issues a certificate for a name or an IPv4 address. */
  readonly issue: (host: string, validity?: Validity) => Certificate
  /** Makes an authority below this one. Its certificates are valid only together with its own. */
  readonly makeIntermediate: () => Authority
}

const authorityFrom = (name: string, parent?: { readonly name: string; readonly privateKey: KeyObject }): Authority => {
  const issuer = { name, ...newKeys() }
  return {
    cert: signed({ host: null, name, publicKey: issuer.publicKey }, parent ?? issuer),
    issue: (host, validity) => {
      const { privateKey, publicKey } = newKeys()
      return { cert: signed({ host, name: host, publicKey, validity }, issuer), key: pem(privateKey) }
    },
    makeIntermediate: () => authorityFrom(`Intermediate of ${name}`, issuer)
  }
}

export const makeAuthority = (name = "Test authority"): Authority => authorityFrom(name)

/** Makes a self-signed certificate. */
export const makeSelfSigned = (host: string): Certificate => {
  const { privateKey, publicKey } = newKeys()
  return { cert: signed({ host, name: host, publicKey }, { name: host, privateKey }), key: pem(privateKey) }
}
