/**
 * Times on the wire. Inside, a time is a number of milliseconds since the epoch.
 */
import { DateTime } from "effect"

/** The last time there is (ECMA-262 section 21.4.1.1), in the year 275760. */
export const latest = 8_640_000_000_000_000

/** ISO 8601 UTC, to the millisecond: `2026-03-02T00:00:00.000Z`. A time beyond all others is written as the last there is. */
export const isoOf = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(Math.min(millis, latest)))
