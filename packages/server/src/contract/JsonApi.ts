/**
 * What the operations of `/v4` share in the contract: media type, errors, pages, the bearer token.
 */
import { Schema } from "effect"
import { HttpApiMiddleware, HttpApiSchema, HttpApiSecurity, OpenApi } from "effect/http-api"
import { jsonApi as mediaType } from "../http/MediaType.ts"
import { ErrorDocument } from "../http/RequestFailure.ts"

/** Gives a schema the media type of JSON:API. */
export const jsonApi = HttpApiSchema.asJson({ contentType: mediaType })

/** The statuses that any operation may be answered with; and those that name something, which may not be there. */
const alwaysPossible = [400, 405, 406, 429, 500, 503] as const
const commonStatuses = [...alwaysPossible, 404] as const

/** The error document with each of these statuses. */
export const errorsOf = (statuses: ReadonlyArray<number>) =>
  statuses.map((status) => ErrorDocument.pipe(HttpApiSchema.status(status), jsonApi))

/** Errors of lists that everybody has, of what is theirs: there is always one, if an empty one. */
export const ownListErrors = errorsOf(alwaysPossible)

/** Errors of operations without a body. */
export const errors = errorsOf(commonStatuses)

/** Errors of lists whose pages begin within a bound. */
export const boundedListErrors = errorsOf([...commonStatuses, 422])

/** Errors of operations that read a document. */
export const documentErrors = errorsOf([...commonStatuses, 403, 408, 409, 413, 415, 422])

/** Errors of operations that may be made to depend on a version. */
export const conditionalErrors = errorsOf([...commonStatuses, 412])

/** Errors of operations that read a document and may be made to depend on a version. */
export const changeErrors = errorsOf([...commonStatuses, 408, 409, 412, 413, 415, 422])

/** The query parameters of a list, in either of two styles. */
export const PageQuery = Schema.Struct({
  page: Schema.optionalKey(Schema.Int),
  per: Schema.optionalKey(Schema.Int),
  "page[number]": Schema.optionalKey(Schema.Int),
  "page[size]": Schema.optionalKey(Schema.Int)
})

const PageNumber = Schema.Int
const NoPage = Schema.NullOr(Schema.Int)

/** The `meta.page_info` of a list. */
export const PageInfo = Schema.Struct({
  current_page: PageNumber,
  total_pages: PageNumber,
  total_item_count: Schema.Int,
  page_item_count: Schema.Int,
  page_size: Schema.Int,
  next_page: NoPage,
  prev_page: NoPage,
  first_page: PageNumber,
  last_page: PageNumber
}).annotate({ identifier: "PageInfo" })

/** The links of a list (JSON:API 1.1 section 5.6). */
export const PageLinks = Schema.Struct({
  first: Schema.String,
  prev: Schema.NullOr(Schema.String),
  next: Schema.NullOr(Schema.String),
  last: Schema.String
}).annotate({ identifier: "PageLinks" })

/** The header by which a creation that is sent again is carried out once. */
export const IdempotencyKey = { "idempotency-key": Schema.optionalKey(Schema.String) }

/** The header that makes a change depend on a version. */
export const IfMatch = { "if-match": Schema.optionalKey(Schema.String) }

const unauthorized = ErrorDocument.pipe(HttpApiSchema.status(401), jsonApi)

const bearer: HttpApiSecurity.Http = HttpApiSecurity.annotateMerge(
  HttpApiSecurity.bearer,
  OpenApi.annotations({ description: "An access token, as the token endpoint gives it." })
)

/** An access token in the `Authorization` header (RFC 6750). */
export class BearerAuthorization extends HttpApiMiddleware.Service<BearerAuthorization>()(
  "@doorhook/server/contract/BearerAuthorization",
  {
    requiredForClient: true,
    security: { bearer },
    error: unauthorized
  }
) {}
