/**
 * The public URL: the address at which clients reach this service. It is the issuer of tokens and the base of all
 * links.
 */
import { ServiceUrl } from "@doorhook/core"
import { Context, Effect, Layer, Schema } from "effect"
import { Listener } from "./Listener.ts"

/** The public URL is not usable. */
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
     * The base URL, without a trailing slash. Clients compare the issuer character by character (RFC 9207). Read the
     * property only while answering a request: without a setting, the URL is inferred from the first request.
     */
    readonly url: string
  }
>()("@doorhook/server/http/PublicUrl") {
  /** A configured URL. */
  static layer(given: string): Layer.Layer<PublicUrl, InvalidPublicUrl> {
    const url = parse(given)
    return url === null ? Layer.unwrap(new InvalidPublicUrl({ given })) : Layer.succeed(PublicUrl, { url })
  }

  /** Uses the listener's own address, for a service without a public name. */
  static readonly layerListening: Layer.Layer<PublicUrl, never, Listener> = Layer.effect(
    PublicUrl,
    Effect.map(Listener, ({ url }) => ({ url }))
  )
}

/** Lets the sender use the public URL in links. */
export const serviceUrl: Layer.Layer<never, never, PublicUrl> = Layer.effect(ServiceUrl, PublicUrl)
