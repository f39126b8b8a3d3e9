/**
 * What is there and what goes wrong: homes, offices, anomalies and devices, with defaults and sources.
 */
import { Schema } from "effect"
import { assumed, parameter } from "./Parameter.ts"
import { Duration, Interval, LognormalValue, Rate, Share, ShortDuration, wholeBetween } from "./Values.ts"

export const homeMethods = { swipe_to_open: 0.68, pin: 0.28, qr_code: 0.04 } as const
export const officeMethods = { swipe_to_open: 0.8, pin: 0.14, qr_code: 0.06 } as const

const Methods = Schema.Struct({ swipe_to_open: Share, pin: Share, qr_code: Share })

/** Room in the ids of a building. */
export const mostFlats = 400
export const mostCompanies = 90

export const Homes = Schema.Struct({
  flats: wholeBetween(1, mostFlats).annotate({
    description: "Number of flats. Dwellers by size of flat: 1.5, 1.8, 3.0, 4.0 (CIBSE Guide D, table 3.12)"
  }),
  per_floor: parameter(wholeBetween(1, 20), 4, "Flats on one floor, for their labels"),
  entry_methods: parameter(
    Methods,
    homeMethods,
    "How holders of credentials usually open doors: shares of the app (swipe to open), PIN and QR code"
  )
}).annotate({ description: "Flats and the people who live in them" })

export const Offices = Schema.Struct({
  employees: wholeBetween(1, 20_000).annotate({ description: "Number of employees who hold a credential" }),
  companies: parameter(wholeBetween(1, mostCompanies), 8, "Number of companies, each behind a door of its own"),
  turnstiles: parameter(
    Schema.Boolean,
    true,
    "Whether the lobby has turnstiles: then leaving is logged too, and few slip through"
  ),
  entry_methods: parameter(
    Methods,
    officeMethods,
    "How holders of credentials usually open doors: shares of the app (swipe to open), PIN and QR code"
  )
}).annotate({ description: "Companies and the people who work in them" })

export const anomalyDefaults = {
  buzzer_spam: 0.5,
  stuck_button: 0.2,
  pin_guessing: 0.3,
  shared_credential: 0.5,
  door_held: 3,
  door_forced: 0.1,
  night_entry: 1
} as const

export const Anomalies = Schema.Struct({
  buzzer_spam: parameter(Rate, anomalyDefaults.buzzer_spam, "Somebody rings at many units within a minute or two"),
  stuck_button: parameter(
    Rate,
    anomalyDefaults.stuck_button,
    "A call button that is stuck calls one unit again and again"
  ),
  pin_guessing: parameter(Rate, anomalyDefaults.pin_guessing, "Somebody tries PINs at a door; all are denied"),
  shared_credential: parameter(
    Rate,
    anomalyDefaults.shared_credential,
    "A credential is used at two doors, too soon for one person"
  ),
  door_held: parameter(Rate, anomalyDefaults.door_held, "A door is held open (release_status Held open)"),
  door_forced: parameter(
    Rate,
    anomalyDefaults.door_forced,
    "A door is forced (entry_method none, release_status Forced)"
  ),
  night_entry: parameter(
    Rate,
    anomalyDefaults.night_entry,
    "Somebody comes in between one and half past four in the morning"
  )
}).annotate({ description: "How often things out of the ordinary happen: times in thirty days, in a building" })

export const outageDefaults = { every: "30d", down: { median: "4m", sigma: 1 } } as const
export const flushDefaults = { per_second: 20, jitter: "500ms" } as const
export const clockDefaults = { deviation: "0s", wrong: 0, wrong_deviation: "90s" } as const

export const DeviceParameters = Schema.Struct({
  outages: parameter(
    Schema.Struct({
      every: Schema.optionalKey(Interval),
      down: Schema.optionalKey(LognormalValue)
    }),
    outageDefaults,
    "How often a controller (four doors and their panels) is offline, on average, and for how long; not past midnight UTC. Openings are kept and sent when it is back, calls are not possible. `every` is 1m or more, or 0s for never"
  ),
  flush: parameter(
    Schema.Struct({
      per_second: Schema.optionalKey(wholeBetween(1, 10_000)),
      jitter: Schema.optionalKey(ShortDuration)
    }),
    flushDefaults,
    "How fast a controller sends what it has kept, and how much later than its turn each event may come (out of order), at most 1h"
  ),
  clocks: parameter(
    Schema.Struct({
      deviation: Schema.optionalKey(Duration),
      wrong: Schema.optionalKey(Share),
      wrong_deviation: Schema.optionalKey(Duration)
    }),
    clockDefaults,
    "Standard deviation of controllers' clocks, the share of clocks that nobody keeps, and the standard deviation of these. Shows in logged_at",
    assumed
  )
}).annotate({ description: "Devices that are offline, send later, and have wrong clocks" })
