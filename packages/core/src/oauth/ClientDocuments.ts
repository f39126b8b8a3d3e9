/**
 * Clients that are not registered: the client id is the URL of a document that describes the client
 * (draft-ietf-oauth-client-id-metadata-document-01). Off unless the setting `clientIdMetadata` allows origins.
 *
 * Anyone can make doorhook fetch such a URL. Documents are therefore fetched like webhooks are sent, only from addresses
 * that the address policy allows, without redirects, and limited in size, time and rate (sections 4, 6.5 and 6.6).
 */
import { Context, Effect, Layer, Option, Result, Schema } from "effect"
import type { AllowList } from "../model/AddressPolicy.ts"
import type { DocumentClient } from "../model/Client.ts"
import { parseClientId } from "../model/Ids.ts"
import { RecentMap } from "../model/RecentMap.ts"
import * as RedirectUri from "../model/RedirectUri.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { TransportResult } from "../ports/Transport.ts"
import { Transport } from "../ports/Transport.ts"
import { AuthorizationSettings, includesOrigin } from "./AuthorizationSettings.ts"
import type { ClientIdMetadata } from "./AuthorizationSettings.ts"
import { networkOf } from "./LoginThrottle.ts"
import { makeMinuteCounter } from "../model/MinuteCounter.ts"

/** Largest document, in bytes (section 6.6). */
const maxBytes = 5 * 1024

/** Time limit of a fetch, in milliseconds. */
const deadline = 3_000

/** Maximum number of fetches per minute, of all documents together and for one network address. */
const fetchesPerMinute = 60
const fetchesPerAddress = 10

/** Longest time for which a document is cached, in milliseconds. */
const longestCache = 24 * 3_600_000

/** Maximum number of cached documents. */
const maxCached = 1_000

/** The document can't be used. The message is for the user and says nothing about the service's network. */
export class DocumentRefused extends Schema.TaggedError<DocumentRefused>()("DocumentRefused", {
  why: Schema.String
}) {
  override get message(): string {
    return `The application identifies itself by a web address, whose document can't be used: ${this.why}. Ask the maker of the application.`
  }
}

/** Too many documents were fetched in this minute. */
export class TooManyDocuments extends Schema.TaggedError<TooManyDocuments>()("TooManyDocuments", {
  /** Whole seconds. */
  retry_after: Schema.Int
}) {
  override get message(): string {
    return `Too many unregistered applications were looked up. Try again in ${this.retry_after} s.`
  }
}

interface Documents {
  /** Returns the client with this id as far as it is known without its document; null if the id is not accepted. */
  readonly accepted: (id: string) => DocumentClient | null
  /** Reads the document of an accepted id, from the cache if HTTP allows it. `address` is the sender's address. */
  readonly read: (
    id: string,
    address: string | null
  ) => Effect.Effect<DocumentClient, DocumentRefused | TooManyDocuments>
}

/** Reads the documents of unregistered clients. By default, no client id is accepted. */
export const ClientDocuments = Context.Reference<Documents>("@doorhook/core/oauth/ClientDocuments", {
  defaultValue: () => ({
    accepted: () => null,
    read: () => Effect.fail(new DocumentRefused({ why: "such applications are not accepted here" }))
  })
})

/**
 * Returns the URL that a client id is; null if it is not one (section 3). It must be in normal form, because ids are
 * compared character by character.
 */
const urlOf = (id: string): URL | null => {
  const url = id.startsWith("https://") && id.length <= 255 ? URL.parse(id) : null
  return url !== null && url.href === id && url.hash === "" && !id.includes("#") && url.username + url.password === ""
    ? url
    : null
}

const Document = Schema.Struct({
  client_id: Schema.String,
  client_name: Schema.NonEmptyString.check(Schema.isMaxLength(100), Schema.isPattern(/^\P{Cc}*\S\P{Cc}*$/u)),
  redirect_uris: Schema.Array(Schema.String).check(Schema.isMaxLength(50)),
  token_endpoint_auth_method: Schema.optionalKey(Schema.Literal("none")),
  // A secret in a public document is no secret (section 4.1).
  client_secret: Schema.optionalKey(Schema.Never)
})

const decodeDocument = Schema.decodeUnknownResult(Document)

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const refuse = (why: string): Result.Result<never, DocumentRefused> => Result.fail(new DocumentRefused({ why }))

/** Reads a fetched document. Redirect URIs other than those of the client's own origin and of the user's machine don't count. */
const clientIn = (client: DocumentClient, url: URL, text: string): Result.Result<DocumentClient, DocumentRefused> => {
  const document = Result.getOrNull(decodeDocument(jsonOf(text)))
  if (document === null) {
    return refuse("it must be JSON with client_id, client_name and redirect_uris, and without a secret")
  }
  if (document.client_id !== client.id) return refuse("it names another client_id")
  const redirect_uris = document.redirect_uris.filter(
    (uri) => RedirectUri.isAcceptable(uri) && (RedirectUri.isLoopback(uri) || URL.parse(uri)?.origin === url.origin)
  )
  return redirect_uris.length === 0
    ? refuse("its redirect_uris must be of its own origin, or of the user's machine")
    : Result.succeed({ ...client, name: document.client_name, redirect_uris })
}

type Answered = Extract<TransportResult, { readonly _tag: "Answered" }>

/** For how long an answer may be cached, in milliseconds (RFC 9111 section 4.2.1). Without a rule by the server: not at all. */
const freshness = ({ headers = {} }: Answered): number => {
  const text = (name: string): string => [headers[name] ?? ""].flat().join(", ").toLowerCase()
  const control = text("cache-control")
  if (/(?:^|[,\s])no-(?:store|cache)\b/.test(control)) return 0
  const seconds = /(?:^|[,\s])s-maxage="?(\d+)/.exec(control) ?? /(?:^|[,\s])max-age="?(\d+)/.exec(control)
  const expires = Date.parse(text("expires")) - Date.parse(text("date"))
  const lifetime = seconds === null ? expires : Number(seconds[1]) * 1_000
  const left = lifetime - (Number(text("age")) || 0) * 1_000
  return Number.isNaN(left) ? 0 : Math.min(Math.max(0, left), longestCache)
}

const make = Effect.fnUntraced(function* (setting: ClientIdMetadata, allow: AllowList) {
  const transport = yield* Transport
  const now = yield* storeTime
  const countAll = makeMinuteCounter()
  const countAddress = makeMinuteCounter()
  const cache = new RecentMap<string, { readonly client: DocumentClient; readonly until: number }>(maxCached)

  const isAllowed = (url: URL): boolean =>
    setting === "any" || setting.allow.some((pattern) => includesOrigin(pattern, url))

  const accepted: Documents["accepted"] = (text) => {
    const url = urlOf(text)
    const id = Option.getOrNull(parseClientId(text))
    return url !== null && id !== null && isAllowed(url)
      ? { id, name: url.host, host: url.host, redirect_uris: [] }
      : null
  }

  /** Counts a fetch. One address is refused before it uses up what all have. */
  const count = (address: string | null): TooManyDocuments | null => {
    const at = now()
    const own = countAddress(address === null ? "" : networkOf(address), at)
    if (own.count > fetchesPerAddress) return new TooManyDocuments({ retry_after: own.seconds })
    const all = countAll("", at)
    return all.count > fetchesPerMinute ? new TooManyDocuments({ retry_after: all.seconds }) : null
  }

  const failed = (result: TransportResult): string | null => {
    if (result._tag === "Failed") {
      if (result.outcome === "blocked_address") return "its address is not public"
      return result.outcome === "timeout"
        ? `it did not arrive within ${deadline / 1_000} seconds`
        : "it can't be fetched"
    }
    if (result.status !== 200) return `its server answered with status ${result.status} instead of 200`
    if (new TextEncoder().encode(result.excerpt).length > maxBytes) return `it is larger than ${maxBytes} bytes`
    // An answer that the deadline cut off counts as answered.
    return result.elapsed >= deadline ? `it did not arrive within ${deadline / 1_000} seconds` : null
  }

  const read: Documents["read"] = Effect.fnUntraced(function* (id, address) {
    const known = cache.get(id)
    if (known !== undefined && now() < known.until) return known.client
    const client = accepted(id)
    const url = urlOf(id)
    if (client === null || url === null) return yield* new DocumentRefused({ why: "its address is not accepted here" })
    const tooMany = count(address)
    if (tooMany !== null) return yield* tooMany
    const request = {
      url: id,
      method: "GET",
      headers: { accept: "application/json" },
      body: "",
      deadline,
      allow
    } as const
    const result = yield* transport
      .post({ ...request, client: "client metadata documents" })
      .pipe(Effect.mapError(() => new DocumentRefused({ why: "it can't be fetched now" })))
    const flaw = failed(result)
    if (flaw !== null || result._tag === "Failed") return yield* new DocumentRefused({ why: flaw ?? "" })
    const found = yield* Effect.fromResult(clientIn(client, url, result.excerpt))
    // Failures are not cached (section 4.4), and replace no cached document.
    const until = now() + freshness(result)
    if (until > now()) cache.set(id, { client: found, until })
    else cache.delete(id)
    return found
  })

  return { accepted, read }
})

/** Accepts the client ids that the setting `clientIdMetadata` allows. `allow`: the networks as for webhooks. */
export const clientDocumentsLayer = (allow: AllowList): Layer.Layer<never, never, Transport | AuthorizationSettings> =>
  Layer.unwrap(
    Effect.map(AuthorizationSettings, ({ clientIdMetadata }) =>
      clientIdMetadata === null ? Layer.empty : Layer.effect(ClientDocuments, make(clientIdMetadata, allow))
    )
  )
