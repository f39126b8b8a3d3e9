/**
 * Whether an answer acknowledges: by its status, and in time.
 */
import type { TransportResult } from "@doorhook/core"

/** `deadline` in milliseconds since the start of the request; `takes2xx` where the integration takes more than a 200. */
export const acknowledges = (result: TransportResult | null | undefined, deadline: number, takes2xx = false): boolean =>
  result?._tag === "Answered" &&
  result.headers_elapsed <= deadline &&
  (result.status === 200 || (takes2xx && result.status >= 200 && result.status < 300))
