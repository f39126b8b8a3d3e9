/**
 * Looks up the addresses of a host name.
 */
import { Context, Effect, Layer } from "effect"

export class NameResolver extends Context.Service<
  NameResolver,
  {
    /**
     * Returns all current IPv4 and IPv6 addresses of a name, in text form; empty if it has none or can't be resolved.
     * `client` is the client whose request needs the lookup. The number of lookups is limited and shared among clients.
     * Interrupting cancels the lookup.
     */
    readonly addresses: (host: string, client: string) => Effect.Effect<ReadonlyArray<string>>
  }
>()("@doorhook/core/ports/NameResolver") {
  /** Resolves no names, so only literal addresses are checked when a URL is saved. */
  static readonly layerNone: Layer.Layer<NameResolver> = Layer.succeed(NameResolver, {
    addresses: () => Effect.succeed([])
  })
}
