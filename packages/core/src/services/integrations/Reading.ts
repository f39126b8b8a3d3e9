/**
 * Reads the documents that integrations are made and changed by, and finds out what is wrong with their URLs.
 */
import { Context, Effect, Result } from "effect"
import type { Integration } from "../../domain/Integration.ts"
import type { DocumentProblem } from "../../domain/IntegrationDocument.ts"
import { candidateUrl, mismatchOf } from "../../domain/IntegrationDocument.ts"
import type { ReadContext } from "../../domain/IntegrationReading.ts"
import type { ResourceType } from "../../domain/ResourceType.ts"
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
  const aliases = yield* ResourceTypeAliases

  /** What is wrong with a URL, the addresses that its name has now included. */
  const judgeUrl = Effect.fnUntraced(function* (text: string, allow: AllowList) {
    const checked = UrlPolicy.check(text, allow)
    if (Result.isFailure(checked)) return checked.failure
    const host = UrlPolicy.hostOf(checked.success)
    if (UrlPolicy.isAddressLiteral(host)) return null
    const addresses = yield* resolver.addresses(host).pipe(
      // Deliveries check again when they connect, so an unknown name does no harm.
      Effect.timeoutOrElse({ duration: resolveDeadline, orElse: () => Effect.succeed([]) })
    )
    return Result.getOrNull(Result.flip(UrlPolicy.checkAddresses(addresses, allow)))
  })

  /** Reads a document that was sent for an integration, or to make one (null). */
  return Effect.fnUntraced(function* <A>(document: unknown, of: Integration | null, reader: Reader<A>) {
    const reason = mismatchOf(document, of?.id ?? null)
    if (reason !== null) return yield* new DocumentMismatch({ reason })
    const url = candidateUrl(document)
    const allow = of === null ? settings.allow : allowOf(settings.allow, of)
    const urlProblem = url === null ? null : yield* judgeUrl(url, allow)
    const result = reader(document, { urlProblem, aliases })
    if (Result.isFailure(result)) return yield* new InvalidIntegration({ problems: result.failure })
    return result.success
  })
})

export type Reading = Effect.Success<typeof makeReading>
