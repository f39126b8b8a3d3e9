/**
 * Encrypts ("seals") secrets before they are stored, and decrypts ("opens") them.
 *
 * The cipher is AES-256-GCM, with a key that is not in the database. Without a key, secrets are stored in clear. Sealed
 * secrets have a prefix, so a table can contain sealed and clear secrets while an operator introduces a key.
 */
import { Effect, Redacted, Schema } from "effect"
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"

/** Error for a stored secret that can't be decrypted. */
export class SecretUnreadable extends Schema.TaggedError<SecretUnreadable>()("SecretUnreadable", {
  why: Schema.Literals(["no_key", "wrong_key"])
}) {
  override get message(): string {
    return this.why === "no_key"
      ? "The secrets in this database are encrypted. Set the encryption key that they were encrypted with (encryptionKey, DOORHOOK_ENCRYPTION_KEY); a new key can't decrypt them."
      : "The secrets in this database were encrypted under another key, or they are damaged. Set the key that they were encrypted with (encryptionKey, DOORHOOK_ENCRYPTION_KEY)."
  }
}

export interface SecretBox {
  /** Whether a secret is stored in clear although there is a key. */
  readonly isExposed: (stored: string) => boolean
  /** Returns the secret in the form to store. */
  readonly seal: (secret: Redacted.Redacted<string>) => string
  readonly open: (stored: string) => Effect.Effect<Redacted.Redacted<string>, SecretUnreadable>
}

/** Prefix of sealed secrets, with a version number for later changes of the format. */
export const sealedPrefix = "sealed:v1:"

/**
 * Checks the encryption key with a few sealed secrets. Opening one proves that the key is right. Fails with the error of
 * the last one if none can be opened.
 */
export const checkKey = (box: SecretBox, sealed: ReadonlyArray<string>): Effect.Effect<void, SecretUnreadable> => {
  const [first, ...others] = sealed.map(box.open)
  return first === undefined ? Effect.void : Effect.asVoid(Effect.firstSuccessOf([first, ...others]))
}

const algorithm = "aes-256-gcm"
const ivLength = 12
const tagLength = 16

/** Makes the box. `encryptionKey` may have any length, because the actual key is its SHA-256 hash. */
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
