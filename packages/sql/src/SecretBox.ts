/**
 * Seals secrets before they are stored, and opens them again.
 *
 * AES-256-GCM with a key that is not in the database. Without a key, secrets are stored in clear. Sealed secrets have a
 * prefix, so both kinds can be in one table while a key is introduced.
 */
import { Effect, Redacted, Schema } from "effect"
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"

/** A stored secret can't be read. */
export class SecretUnreadable extends Schema.TaggedError<SecretUnreadable>()("SecretUnreadable", {
  why: Schema.Literals(["no_key", "wrong_key"])
}) {
  override get message(): string {
    return this.why === "no_key"
      ? "The secrets in this database are encrypted. Give the encryption key that they were stored under (encryptionKey, DOORHOOK_ENCRYPTION_KEY); a new one cannot read them."
      : "The secrets in this database were encrypted under another key, or were damaged. Give the key that they were stored under (encryptionKey, DOORHOOK_ENCRYPTION_KEY)."
  }
}

export interface SecretBox {
  /** Whether a stored secret is in clear although there is a key. */
  readonly isExposed: (stored: string) => boolean
  /** Returns the form to store. */
  readonly seal: (secret: Redacted.Redacted<string>) => string
  readonly open: (stored: string) => Effect.Effect<Redacted.Redacted<string>, SecretUnreadable>
}

/** The prefix of sealed secrets. It has a version so that the format can change. */
export const sealedPrefix = "sealed:v1:"

const algorithm = "aes-256-gcm"
const ivLength = 12
const tagLength = 16

/** `encryptionKey` may have any length: the key is derived from it by SHA-256. */
export const make = (encryptionKey: Redacted.Redacted<string> | undefined): SecretBox => {
  if (encryptionKey === undefined) return plain
  const key = createHash("sha256").update(Redacted.value(encryptionKey), "utf8").digest()

  const decrypt = (stored: string): string => {
    const bytes = Buffer.from(stored.slice(sealedPrefix.length), "base64url")
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivLength), { authTagLength: tagLength })
    decipher.setAuthTag(bytes.subarray(ivLength, ivLength + tagLength))
    return decipher.update(bytes.subarray(ivLength + tagLength), undefined, "utf8") + decipher.final("utf8")
  }

  return {
    isExposed: (stored) => !stored.startsWith(sealedPrefix),
    seal: (secret) => {
      const iv = randomBytes(ivLength)
      const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagLength })
      const sealed = Buffer.concat([cipher.update(Redacted.value(secret), "utf8"), cipher.final()])
      return sealedPrefix + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url")
    },
    open: (stored) => {
      if (!stored.startsWith(sealedPrefix)) return plain.open(stored)
      try {
        return Effect.succeed(Redacted.make(decrypt(stored)))
      } catch {
        return Effect.fail(new SecretUnreadable({ why: "wrong_key" }))
      }
    }
  }
}

const plain: SecretBox = {
  isExposed: () => false,
  seal: Redacted.value,
  open: (stored) =>
    stored.startsWith(sealedPrefix)
      ? Effect.fail(new SecretUnreadable({ why: "no_key" }))
      : Effect.succeed(Redacted.make(stored))
}
