/**
 * Password hashes for hosts without their own: scrypt (RFC 7914) in the PHC string format,
 * `$scrypt$ln=15,r=8,p=3$SALT$HASH`. Libraries in other languages read and write this format too.
 */
import { NameLookup } from "@doorhook/node"
import { Option } from "effect"
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import { promisify } from "node:util"
import { DoorhookError } from "../DoorhookError.ts"

/** Parameters of scrypt that determine how much work a guess costs. */
export interface PasswordCost {
  /** The binary logarithm of N, the CPU and memory cost. Default 15: with r = 8, each guess takes 32 MiB. */
  readonly ln?: number
  /** The block size. Default 8. */
  readonly r?: number
  /** The parallelization. Default 3. */
  readonly p?: number
}

/** These defaults are among the settings that OWASP's Password Storage Cheat Sheet lists as equally strong. */
const defaults = { ln: 15, r: 8, p: 3 }

/**
 * Maximum memory for checking a stored hash, in bytes. A hash that needs more is not checked, so that a manipulated
 * hash can't crash the process.
 */
const mostMemory = 512 * 1024 * 1024

/**
 * Minimum length of an accepted hash, in bytes. A truncated hash matches many passwords, and an empty hash matches all
 * passwords.
 */
const leastHash = 16
const leastSalt = 8

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

interface Stored {
  readonly ln: number
  readonly r: number
  readonly p: number
  readonly salt: Buffer
  readonly hash: Buffer
}

const memoryOf = ({ ln, p, r }: Required<PasswordCost>): number => 128 * r * (2 ** ln + p + 2)

/**
 * Number of hashes that this process computes at the same time: two, but at most a quarter of libuv's threads. Name
 * lookups use at most half of the threads. Even with only four threads, one stays free for disk syncs.
 */
const maxHashing = Math.max(1, Math.min(2, Math.floor(NameLookup.threads / 4)))

/**
 * Maximum number of passwords that wait to be checked. At the default cost, a hash takes about 200 ms, so the last of
 * 40 passwords waits for 8 s if one is checked at a time. A directory must answer within 10 s (`withDeadlines`).
 */
const maxWaiting = 40

let hashing = 0
/** Callbacks that start a waiting hash, oldest first. Password checks run before new hashes for storage. */
const checks: Array<() => void> = []
const others: Array<() => void> = []

/** Computes a hash after waiting for its turn in `queue`. */
const hashIn = async (
  queue: Array<() => void>,
  password: string,
  salt: Buffer,
  length: number,
  cost: Required<PasswordCost>
): Promise<Buffer> => {
  // Each finished hash starts the next waiting one.
  if (hashing >= maxHashing) await new Promise<void>((start) => queue.push(start))
  else hashing++
  try {
    return await derive(password.normalize("NFC"), salt, length, {
      N: 2 ** cost.ln,
      r: cost.r,
      p: cost.p,
      maxmem: 2 * memoryOf(cost)
    })
  } finally {
    const next = checks.shift() ?? others.shift()
    if (next === undefined) hashing--
    else next()
  }
}

/** Computes a hash to check a password. Fails if too many passwords are waiting. */
const checkWith = (password: string, salt: Buffer, length: number, cost: Required<PasswordCost>): Promise<Buffer> => {
  if (checks.length < maxWaiting) return hashIn(checks, password, salt, length, cost)
  throw new DoorhookError(
    "too_busy",
    `${maxWaiting} passwords are already waiting to be checked. Try again in a moment.`
  )
}

/** Base64 without padding, as in PHC strings. */
const unpadded = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "")

const form = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/.]+)\$([A-Za-z0-9+/.]+)$/

const parse = (stored: string): Option.Option<Stored> => {
  const [, ln, r, p, salt = "", hash = ""] = form.exec(stored) ?? []
  const read = { ln: Number(ln), r: Number(r), p: Number(p) }
  // Some libraries write a dot instead of a plus sign.
  const bytes = (text: string): Buffer => Buffer.from(text.replaceAll(".", "+"), "base64")
  const found = { ...read, salt: bytes(salt), hash: bytes(hash) }
  const isWhole = found.salt.length >= leastSalt && found.hash.length >= leastHash
  const isUsable = read.ln > 0 && read.r > 0 && read.p > 0 && memoryOf(read) <= mostMemory
  return isWhole && isUsable ? Option.some(found) : Option.none()
}

/** Whether a stored text is a hash that `verifyPassword` can check. */
export const isPasswordHash = (stored: string): boolean => Option.isSome(parse(stored))

/**
 * Hashes a password for storage. A process computes at most two hashes at the same time. Any number of new hashes may
 * wait, and password checks overtake them.
 */
export const hashPassword = async (password: string, cost: PasswordCost = {}): Promise<string> => {
  const { ln, p, r } = { ...defaults, ...cost }
  const salt = randomBytes(16)
  const hash = await hashIn(others, password, salt, 32, { ln, r, p })
  return `$scrypt$ln=${ln},r=${r},p=${p}$${unpadded(salt)}$${unpadded(hash)}`
}

/** Takes as long as a password check. Used for unknown logins, so that timing does not reveal which logins exist. */
export const dummyVerify = async (password: string): Promise<void> => {
  await checkWith(password, Buffer.alloc(16), 32, defaults)
}

/**
 * Whether a password matches a stored hash. Returns false for a hash in another format, but only after the usual time
 * of a check.
 *
 * This function and `hashPassword` together compute at most two hashes at the same time; checks run first. Rejects with
 * `too_busy` if 40 passwords are already waiting to be checked.
 */
export const verifyPassword = async (password: string, stored: string): Promise<boolean> =>
  Option.match(parse(stored), {
    onNone: async () => {
      await dummyVerify(password)
      return false
    },
    onSome: async ({ hash, salt, ...cost }) => timingSafeEqual(hash, await checkWith(password, salt, hash.length, cost))
  })
