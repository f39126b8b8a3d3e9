/**
 * A run against modelled receivers, with the engine in this process.
 */
import { Crypto } from "@doorhook/core"
import { Clock, Effect } from "effect"
import { child, Rng, root } from "../../random/Substream.ts"
import { LocalClock } from "../../receivers/LocalClock.ts"
import { Receiver } from "../../receivers/Receiver.ts"
import { describedFor, modelFor } from "../../receivers/ReceiverText.ts"
import type { Measurements } from "../../results/Measurements.ts"
import type { OwnEngineOptions } from "../../run/OwnEngine.ts"
import type { PlannedIntegration } from "../../run/World.ts"
import type { RunSettings } from "../ReadRun.ts"
import type { Course } from "./Course.ts"
import { prepareOwn } from "./OwnEngineRun.ts"

/** Receivers that are modelled: they answer by their rules, after as long as these say. */
const modelled = (
  { options: { seed }, receivers }: RunSettings,
  integrations: ReadonlyArray<PlannedIntegration>,
  course: Course
): OwnEngineOptions["send"] => {
  const stream = child(root(seed), "receivers")
  const all = new Map(
    integrations.map(({ place, zone }) => [
      place,
      { receiver: new Receiver(modelFor(receivers, place), new Rng(child(stream, place))), clock: new LocalClock(zone) }
    ])
  )
  return Effect.fnUntraced(function* ({ deadline }, { place }) {
    const known = all.get(place)
    if (known === undefined) return yield* Effect.die(new Error(`integration ${place} has no receiver`))
    const now = yield* Clock.currentTimeMillis
    const sinceStart = course.timeOf(now)
    const local = known.clock.at(course.beginning + sinceStart)
    const reception = known.receiver.receive({ now, sinceStart, deadline, local })
    yield* Effect.sleep(reception.result.elapsed)
    return reception
  })
}

export const prepareModelled = (
  settings: RunSettings,
  integrations: ReadonlyArray<PlannedIntegration>,
  measurements: Measurements,
  course: Course
) =>
  prepareOwn(
    settings,
    {
      measurements,
      integrations,
      urlOf: ({ place }) => `https://receiver${place}.example/hook`,
      receiverOf: ({ place }) => describedFor(settings.receivers, place),
      send: modelled(settings, integrations, course),
      secret: null,
      crypto: Crypto.layerWebCrypto
    },
    course,
    "in-process",
    "against modelled receivers, the engine in this process"
  )
