/**
 * A run against one real receiver, with the engine in this process and doorhook's own sender.
 */
import { CommandFailure, Transport, UrlPolicy } from "@doorhook/core"
import { Context, Effect, Layer } from "effect"
import { undescribed } from "../../receivers/ReceiverText.ts"
import { Equipment } from "../../run/Equipment.ts"
import type { Measurements } from "../../results/Measurements.ts"
import type { PlannedIntegration } from "../../run/World.ts"
import type { RunSettings } from "../ReadRun.ts"
import type { Course } from "./Course.ts"
import { prepareOwn } from "./OwnEngineRun.ts"

export const prepareReceiver = Effect.fnUntraced(function* (
  settings: RunSettings,
  { secret, url }: Extract<RunSettings["target"], { readonly kind: "receiver" }>,
  integrations: ReadonlyArray<PlannedIntegration>,
  measurements: Measurements,
  course: Course
) {
  const equipment = yield* Equipment
  if (equipment === null)
    return yield* CommandFailure.usage("--to-receiver: this program has no way out to the network")
  // It stays open until the session's scope is closed.
  const transport = Context.get(yield* Layer.build(equipment.transport), Transport)
  // Each integration is known by its URL; what comes after # never leaves this process.
  const bare = (address: string) => address.replace(/#.*$/, "")
  return yield* prepareOwn(
    settings,
    {
      measurements,
      integrations,
      urlOf: ({ place }) => `${url}#${place}`,
      receiverOf: () => undescribed,
      send: (request) =>
        Effect.map(transport.post({ ...request, url: bare(request.url) }), (result) => ({ result, processed: null })),
      secret,
      crypto: equipment.crypto
    },
    course,
    "receiver",
    `against ${UrlPolicy.shownUrl(new URL(url))}`
  )
})
