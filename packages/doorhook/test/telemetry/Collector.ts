/**
 * An OpenTelemetry collector that keeps what it is sent.
 */
import type { Received } from "@doorhook/testkit/Receiver"
import { startReceiver } from "@doorhook/testkit/Receiver"

/** Starts one, on any free port: what it gets are exports, whose paths name their signals. */
export const startCollector = startReceiver(() => ({
  status: 200,
  headers: { "content-type": "application/json" },
  body: "{}"
}))

/** The signal of an export: traces, metrics or logs. */
export const signalOf = ({ path }: Received): string => path.split("/").at(-1) ?? ""

/** Every object in a document that has this member, at whatever depth. */
export const objectsWith = (member: string, document: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  if (typeof document !== "object" || document === null) return []
  const inner = Object.values(document).flatMap((value) => objectsWith(member, value))
  return member in document ? [{ ...document }, ...inner] : inner
}
