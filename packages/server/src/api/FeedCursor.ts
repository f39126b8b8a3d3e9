/**
 * Places in the feed of an integration, as clients keep them. To them a cursor is a text without a meaning, so that the
 * order of the feed stays the service's own matter.
 */
import { DeliveryId, parsePositiveInt } from "@doorhook/core"
import type { IntegrationId } from "@doorhook/core"
import { Option, Result } from "effect"
import { Base64Url } from "effect/encoding"

/** The place after a delivery; 0 is the beginning. */
export const formatCursor = (integration: IntegrationId, after: DeliveryId | 0): string =>
  Base64Url.encode(`${integration}.${after}`)

const parseAfter = (text: string): Option.Option<DeliveryId | 0> =>
  text === "0" ? Option.some(0) : parsePositiveInt(DeliveryId, text)

/** Reads a cursor; none when it is not one of this integration. */
export const parseCursor = (integration: IntegrationId, text: string): Option.Option<DeliveryId | 0> =>
  Result.getSuccess(Base64Url.decodeString(text)).pipe(
    Option.flatMap((plain) => parseAfter(plain.slice(plain.indexOf(".") + 1))),
    Option.filter((after) => formatCursor(integration, after) === text)
  )
