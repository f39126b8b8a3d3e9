/**
 * Times on the wire. Inside, a time is a number of milliseconds since the epoch.
 */
import { DateTime } from "effect"

/** ISO 8601 UTC, to the millisecond: `2026-03-02T00:00:00.000Z`. */
export const isoOf = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))
