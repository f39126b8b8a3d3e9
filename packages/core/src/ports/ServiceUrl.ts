/** The address at which clients reach the service, for links in webhooks. */
import { Context } from "effect"

/**
 * The base URL, without a trailing slash. It may change: without a setting, it is inferred from the first request. Null
 * if it is not known.
 */
export const ServiceUrl = Context.Reference<{ readonly url: string } | null>("@doorhook/core/ports/ServiceUrl", {
  defaultValue: () => null
})

/** The public URL until it is set or inferred. */
export const defaultPublicUrl = "http://localhost:4000"
