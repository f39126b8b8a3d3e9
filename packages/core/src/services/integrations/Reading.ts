/**
 * Reads the documents that integrations are made and changed by, and finds out what is wrong with their URLs.
 */
import { Context, Effect, Result } from "effect"
import type { ClientId } from "../../domain/Ids.ts"
import type { Integration } from "../../domain/Integration.ts"
import type { DocumentProblem } from "../../domain/IntegrationDocument.ts"
import { candidateUrl, mismatchOf } from "../../domain/IntegrationDocument.ts"
import type { ReadContext } from "../../domain/IntegrationReading.ts"
import type { ResourceType } from "../../domain/ResourceType.ts"
import { ResourceTypes } from "../../domain/ResourceType.ts"
import { NameResolver } from "../../ports/NameResolver.ts"
import type { AllowList } from "../../rules/AddressPolicy.ts"
import { allowOf } from "../../rules/DeliveryPolicy.ts"
import * as UrlPolicy from "../../rules/UrlPolicy.ts"
import { DeliverySettings } from "../DeliverySettings.ts"
import { DocumentMismatch, InvalidIntegration } from "../IntegrationErrors.ts"

/** Other names that clients may use for resource types. None by default. */
export const ResourceTypeAliases = Context.Reference<Readonly<Record<string, ResourceType>>>(
  "@doorhook/core/services/Integrations/ResourceTypeAliases",
  { defaultValue: () => ({}) }
)

/** How long a URL's name may take to resolve before it counts as not resolving yet, in milliseconds. */
export const resolveDeadline = 3_000

/** What a document is read by. */
export type Reader<A> = (document: unknown, context: ReadContext) => Result.Result<A, ReadonlyArray<DocumentProblem>>

export const makeReading = Effect.gen(function* () {
  const resolver = yield* NameResolver
  const settings = yield* DeliverySettings
  const types = yield* ResourceTypes
  const aliases = yield* ResourceTypeAliases

  /** What is wrong with the addresses that a URL's name has now. */
  const judgeName = Effect.fnUntraced(function* (url: URL, allow: AllowList, client: ClientId) {
    const host = UrlPolicy.hostOf(url)
    if (UrlPolicy.isAddressLiteral(host)) return null
    const addresses = yield* resolver.addresses(host, client).pipe(
      // Deliveries check again when they connect, so an unknown name does no harm.
      Effect.timeoutOrElse({ duration: resolveDeadline, orElse: () => Effect.succeed([]) })
    )
    return Result.getOrNull(Result.flip(UrlPolicy.checkAddresses(addresses, allow)))
  })

  /** Reads a document that a client sent for an integration, or to make one (null). */
  return Effect.fnUntraced(function* <A>(
    client: ClientId,
    document: unknown,
    of: Integration | null,
    reader: Reader<A>
  ) {
    const reason = mismatchOf(document, of?.id ?? null)
    if (reason !== null) return yield* new DocumentMismatch({ reason })
    const url = candidateUrl(document)
    const allow = of === null ? settings.allow : allowOf(settings.allow, of)
    const readWith = (urlProblem: UrlPolicy.UrlProblem | null) =>
      Effect.fromResult(
        Result.mapError(
          reader(document, { urlProblem, types, aliases }),
          (problems) => new InvalidIntegration({ problems })
        )
      )
    if (url === null) return yield* readWith(null)
    const checked = UrlPolicy.check(url, allow)
    if (Result.isFailure(checked)) return yield* readWith(checked.failure)
    const input = yield* readWith(null)
    // A look-up can hold a thread for seconds, so it is made only for what is valid otherwise.
    const urlProblem = yield* judgeName(checked.success, allow, client)
    return urlProblem === null ? input : yield* readWith(urlProblem)
  })
})

export type Reading = Effect.Success<typeof makeReading>
