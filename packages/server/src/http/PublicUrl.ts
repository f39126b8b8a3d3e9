/**
 * Where this service is reached from outside: the issuer of tokens and the base of every link.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { Listener } from "./Listener.ts"

/** A public URL that can't be one. */
export class InvalidPublicUrl extends Schema.TaggedError<InvalidPublicUrl>()("InvalidPublicUrl", {
  given: Schema.String
}) {
  override get message(): string {
    return `The public URL ${JSON.stringify(this.given)} is not usable. Give an http or https URL without query and fragment, like https://doors.example.`
  }
}

const parse = (given: string): string | null => {
  const url = URL.parse(given)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return null
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") return null
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "")
}

export class PublicUrl extends Context.Service<
  PublicUrl,
  {
    /**
     * The base URL, without a trailing slash. Clients compare the issuer character by character (RFC 9207). Read it when a
     * request is answered, not before: without a setting it is learned from the first request.
     */
    readonly url: string
  }
>()("@doorhook/server/http/PublicUrl") {
  /** The URL that the service is known by. */
  static layer(given: string): Layer.Layer<PublicUrl, InvalidPublicUrl> {
    const url = parse(given)
    return url === null ? Layer.unwrap(new InvalidPublicUrl({ given })) : Layer.succeed(PublicUrl, { url })
  }

  /** The address that the server listens on, for a service that is not behind a name. */
  static readonly layerListening: Layer.Layer<PublicUrl, never, Listener> = Layer.effect(
    PublicUrl,
    Effect.map(Listener, ({ url }) => ({ url }))
  )
}
