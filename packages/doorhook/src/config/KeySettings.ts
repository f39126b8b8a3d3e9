/**
 * Checks settings that are keys. Messages never contain the keys.
 */
import { AddressPolicy, english, Signature, UrlPolicy } from "@doorhook/core"
import { Array, Effect, Redacted, Result } from "effect"
import type { EngineConfig } from "./EngineConfig.ts"
import { collectAll, invalid, InvalidConfig } from "./ReadingSettings.ts"

type KeySettings = Pick<EngineConfig, "operatorKey" | "encryptionKey" | "metricsKey">

/** Matches text that an HTTP header carries unchanged: visible ASCII characters, with spaces between them. */
const carried = /^[!-~](?:[ -~]*[!-~])?$/

/** Matches a Bearer token (RFC 6750 section 2.1), which scrapers send unchanged. */
const tokenCarried = /^[A-Za-z0-9\-._~+/]+=*$/

/** All networks: operators may send notifications anywhere. */
const everywhere = Array.getSomes(["0.0.0.0/0", "::/0"].map(AddressPolicy.parseNetwork))

/** Minimum length of a configured key. Shorter keys might be guessed. */
const minKeyLength = 32

/** Minimum number of different characters in the encryption key. */
const minKeyVariety = 8

const tooShort = (key: string): string =>
  `it has ${key.length} ${key.length === 1 ? "character" : "characters"} and must have ${minKeyLength} or more`

const invalidOperatorKey = (flaw: string) => invalid(`operatorKey: ${flaw}. Make one with: openssl rand -base64 32`)

/**
 * Reads the operator key that a client presents; undefined for none. Refuses an empty key, and a key that a header
 * can't carry.
 */
export const presentedKeyOf = ({
  operatorKey: key
}: KeySettings): Result.Result<Redacted.Redacted | undefined, InvalidConfig> => {
  if (key === undefined) return Result.succeed(undefined)
  if (carried.test(key)) return Result.succeed(Redacted.make(key))
  return invalidOperatorKey(
    key.trim() === "" ? "it is empty" : "a header can't carry it: use visible ASCII characters only"
  )
}

/** Reads the operator key of a service; undefined if the service must generate one. */
export const operatorKeyOf = (config: KeySettings): Result.Result<Redacted.Redacted | undefined, InvalidConfig> =>
  Result.flatMap(presentedKeyOf(config), (key) =>
    key !== undefined && Redacted.value(key).length < minKeyLength
      ? invalidOperatorKey(tooShort(Redacted.value(key)))
      : Result.succeed(key)
  )

/** Reads the key that encrypts signing secrets; undefined for none. */
export const encryptionKeyOf = ({
  encryptionKey: key
}: KeySettings): Result.Result<Redacted.Redacted | undefined, InvalidConfig> => {
  if (key === undefined) return Result.succeed(undefined)
  const variety = new Set(key).size
  const flaw =
    key.length < minKeyLength
      ? tooShort(key)
      : variety < minKeyVariety
        ? `it has only ${variety} different characters and must be random`
        : null
  return flaw === null
    ? Result.succeed(Redacted.make(key))
    : invalid(`encryptionKey: ${flaw}. Make one with: openssl rand -base64 32`)
}

/** Checks the URL and the secret of notifications. */
export const checkNotifications = ({
  notificationSecret: secret,
  notificationUrl: url
}: Pick<EngineConfig, "notificationSecret" | "notificationUrl">): Result.Result<unknown, InvalidConfig> =>
  collectAll<unknown>([
    url === undefined
      ? Result.void
      : Result.mapError(
          UrlPolicy.check(url, everywhere),
          ({ said }) => new InvalidConfig({ message: `notificationUrl: ${english(said)}` })
        ),
    secret === undefined ? Result.void : checkNotificationSecret(secret),
    secret === undefined || url !== undefined
      ? Result.void
      : invalid("notificationSecret: has no effect without notificationUrl; give both, or leave out the secret")
  ])

const checkNotificationSecret = (secret: string): Result.Result<void, InvalidConfig> =>
  Signature.isSecret(secret)
    ? Result.void
    : invalid(
        `notificationSecret: must be whsec_ and base64 of ${Signature.minSecretBytes} bytes or more. Make one with: echo "whsec_$(openssl rand -base64 24)"`
      )

/** Reads the key for `/metrics`; undefined for none. */
export const metricsKeyOf = ({
  metricsKey: key
}: KeySettings): Result.Result<Redacted.Redacted | undefined, InvalidConfig> => {
  if (key === undefined) return Result.succeed(undefined)
  const flaw =
    key.length < minKeyLength
      ? tooShort(key)
      : tokenCarried.test(key)
        ? null
        : "a Bearer header can't carry it: it must be letters, digits and - . _ ~ + / ="
  return flaw === null
    ? Result.succeed(Redacted.make(key))
    : invalid(`metricsKey: ${flaw}. Make one with: openssl rand -base64 32`)
}

/** Describes the secrets that these settings leave unencrypted in the database; null for none. */
export const readableSecretsOf = ({
  database,
  encryptionKey
}: Pick<EngineConfig, "database" | "encryptionKey">): string | null =>
  encryptionKey !== undefined || database === "memory"
    ? null
    : "signing secrets and the secret behind portal links are stored unencrypted in the database and its backups"

/** Logs a warning at the start if secrets are stored unencrypted. */
export const warnOfReadableSecrets = (config: EngineConfig): Effect.Effect<void> => {
  const readable = readableSecretsOf(config)
  return readable === null
    ? Effect.void
    : Effect.logWarning(
        `encryptionKey: not set; ${readable}. Make a key with: openssl rand -base64 32. Keep it apart from the database, and give it as encryptionKey.`
      )
}
