/**
 * Looks up the addresses of a host name.
 */
import { Context, Effect, Layer } from "effect"

export class NameResolver extends Context.Service<
  NameResolver,
  {
    /**
     * Every address a name has now, IPv4 and IPv6, in text form. Empty when it has none or can't be looked up. Look-ups are
     * a scarce resource that clients share: `client` is the one whose request asks. Interrupting withdraws the question.
     */
    readonly addresses: (host: string, client: string) => Effect.Effect<ReadonlyArray<string>>
  }
>()("@doorhook/core/ports/NameResolver") {
  /** Knows no name at all: only literal addresses are checked when a URL is saved. */
  static readonly layerNone: Layer.Layer<NameResolver> = Layer.succeed(NameResolver, {
    addresses: () => Effect.succeed([])
  })
}
