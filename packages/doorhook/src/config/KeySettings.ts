/**
 * The keys that are given as settings. Their values are in no message.
 */
import { Redacted, Result } from "effect"
import type { EngineConfig } from "./EngineConfig.ts"
import type { InvalidConfig } from "./ReadingSettings.ts"
import { invalid } from "./ReadingSettings.ts"

type KeySettings = Pick<EngineConfig, "operatorKey" | "encryptionKey">

/** Visible characters of ASCII, with spaces between them: what a header carries unchanged. */
const carried = /^[!-~](?:[ -~]*[!-~])?$/

/** The fewest characters of a given key: shorter ones can be guessed by trying. */
const minKeyLength = 32

/** The fewest different characters of the encryption key. */
const minKeyVariety = 8

const tooShort = (key: string): string =>
  `it has ${key.length} ${key.length === 1 ? "character" : "characters"} and must have ${minKeyLength} or more`

const invalidOperatorKey = (flaw: string) => invalid(`operatorKey: ${flaw}. Make one with: openssl rand -base64 32`)

/** A key of the operator API that is presented to a service; undefined for none. Only what a header can't carry is refused. */
export const presentedKeyOf = ({
  operatorKey: key
}: KeySettings): Result.Result<Redacted.Redacted | undefined, InvalidConfig> => {
  if (key === undefined) return Result.succeed(undefined)
  if (carried.test(key)) return Result.succeed(Redacted.make(key))
  return invalidOperatorKey(
    key.trim() === "" ? "it is empty" : "a header can't carry it: it must be letters, digits and signs of ASCII"
  )
}

/** The key that a service gives its operator API; undefined for one that it makes. */
export const operatorKeyOf = (config: KeySettings): Result.Result<Redacted.Redacted | undefined, InvalidConfig> =>
  Result.flatMap(presentedKeyOf(config), (key) =>
    key !== undefined && Redacted.value(key).length < minKeyLength
      ? invalidOperatorKey(tooShort(Redacted.value(key)))
      : Result.succeed(key)
  )

/** The key that signing secrets are encrypted with; undefined for none. */
export const encryptionKeyOf = ({
  encryptionKey: key
}: KeySettings): Result.Result<Redacted.Redacted | undefined, InvalidConfig> => {
  if (key === undefined) return Result.succeed(undefined)
  const variety = new Set(key).size
  const flaw =
    key.length < minKeyLength
      ? tooShort(key)
      : variety < minKeyVariety
        ? `it is made of ${variety} different characters and must be random`
        : null
  return flaw === null
    ? Result.succeed(Redacted.make(key))
    : invalid(`encryptionKey: ${flaw}. Make one with: openssl rand -base64 32`)
}
