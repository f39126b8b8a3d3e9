/**
 * Where the suite may send its events, and whether something is there.
 *
 * The suite makes doors look opened and bells look rung, over and over: it goes to the machine and the networks of the
 * person at the terminal, and elsewhere only where the receiver is said to be theirs.
 */
import { AddressPolicy, CommandFailure, english, NameResolver, UrlPolicy } from "@doorhook/core"
import { Effect, Layer, Option, Result } from "effect"
import { lookup } from "node:dns/promises"
import { accepts } from "../Knocking.ts"
import { TargetUnusable } from "../execution/Reaching.ts"

const networks = (...texts: ReadonlyArray<string>): AddressPolicy.AllowList =>
  texts.flatMap((text) => Option.toArray(AddressPolicy.parseNetwork(text)))

/** Loopback and private networks, and the address that means «this machine». */
const local = networks(
  "127.0.0.0/8",
  "::1/128",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "fc00::/7",
  "0.0.0.0/32",
  "::/128"
)

const everywhere = networks("0.0.0.0/0", "::/0")

/** Local is what may be reached only because the list above names it. */
export const isLocal = (address: string): boolean =>
  AddressPolicy.isAllowedAddress(address, local) && !AddressPolicy.isAllowedAddress(address, [])

/** The system's resolver. */
export const systemNames: Layer.Layer<NameResolver> = Layer.succeed(NameResolver, {
  addresses: (host) =>
    Effect.tryPromise(() => lookup(host, { all: true })).pipe(
      Effect.map((found) => found.map(({ address }) => address)),
      Effect.timeout("5 seconds"),
      // A name that can't be looked up has no address.
      Effect.orElseSucceed(() => [])
    )
})

/** Reads the URL of a receiver. */
export const parse = (text: string): Result.Result<URL, CommandFailure> => {
  const flaw = UrlPolicy.hiddenQueryFlaw(text)
  return flaw === null
    ? Result.mapError(UrlPolicy.check(text, everywhere), ({ said }) => CommandFailure.usage(`--url: ${english(said)}`))
    : Result.fail(CommandFailure.usage(`--url ${text}: ${flaw}`))
}

/** Names that mean nothing outside a machine or a network: those without a dot, and the special-use ones (RFC 6761). */
const isPrivateName = (host: string): boolean =>
  !host.includes(".") || /\.(?:localhost|local|lan|internal|home\.arpa|test|invalid|example)$/i.test(host)

/** Makes sure that the receiver is local, or owned. */
export const authorize = Effect.fnUntraced(function* (
  url: URL,
  owned: boolean
): Effect.fn.Return<void, CommandFailure | TargetUnusable, NameResolver> {
  const resolver = yield* NameResolver
  const host = UrlPolicy.hostOf(url)
  const addresses = UrlPolicy.isAddressLiteral(host) ? [host] : yield* resolver.addresses(host, "conformance")
  if (addresses.length === 0 && (owned || isPrivateName(host))) {
    return yield* new TargetUnusable({
      message: `${host} has no address: the name could not be resolved. Correct --url.`
    })
  }
  // A public name that does not resolve here, just now, is foreign all the same.
  const foreign = addresses.length === 0 ? "unresolved" : addresses.find((address) => !isLocal(address))
  if (foreign === undefined || owned) return
  const where = foreign === host ? foreign : `${host} (${foreign})`
  return yield* CommandFailure.usage(
    `${where} is not a loopback or private address, and this suite sends events that look real. If the receiver is yours and may get them, add --i-own-this-target.`
  )
})

/** Makes sure that something accepts connections there. */
export const reach = (url: URL, limit: number): Effect.Effect<void, TargetUnusable> =>
  accepts(url).pipe(
    Effect.timeout(limit),
    Effect.mapError(
      (error) =>
        new TargetUnusable({
          message: `Nothing accepts connections at ${url.origin} (${error.message === "" ? "connection refused" : error.message}). Start the receiver, or correct --url.`
        })
    )
  )
