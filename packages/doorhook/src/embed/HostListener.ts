/**
 * The host's callback for notifications.
 */
import { nameOf, NotificationListener } from "@doorhook/core"
import { notificationDocument } from "@doorhook/server"
import type { NotificationDocument } from "@doorhook/server"
import { Effect, Layer, Predicate } from "effect"

/** Called with one notification at a time. Errors and rejections are logged. */
export type OnNotification = (notification: NotificationDocument) => unknown

/** Returns the problems of the callback, because a host in plain JavaScript has no type checks. */
export const problemsOf = (given: unknown): ReadonlyArray<string> =>
  given === undefined || Predicate.isFunction(given)
    ? []
    : [`onNotification: must be a function or left out, not ${nameOf(given)}`]

/** Passes notifications to the host's callback, if there is one. */
export const layer = (onNotification: OnNotification | undefined): Layer.Layer<never> =>
  onNotification === undefined
    ? Layer.empty
    : Layer.succeed(NotificationListener, (notification) =>
        Effect.promise(async () => onNotification(notificationDocument(notification)))
      )
