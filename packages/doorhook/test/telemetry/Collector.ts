/**
 * An OpenTelemetry collector that stores what it receives.
 */
import type { Received } from "@doorhook/testkit/Receiver"
import { startReceiver } from "@doorhook/testkit/Receiver"

/**
 * Starts a collector on a free port. The last segment of the path says what an export contains: traces, metrics or
 * logs.
 */
export const startCollector = startReceiver(() => ({
  status: 200,
  headers: { "content-type": "application/json" },
  body: "{}"
}))

/** Returns the signal of an export: traces, metrics or logs. */
export const signalOf = ({ path }: Received): string => path.split("/").at(-1) ?? ""

/** Returns all objects in a document that have this member, at any depth. */
export const objectsWith = (member: string, document: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  if (typeof document !== "object" || document === null) return []
  const inner = Object.values(document).flatMap((value) => objectsWith(member, value))
  return member in document ? [{ ...document }, ...inner] : inner
}
