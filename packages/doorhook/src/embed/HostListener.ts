/**
 * The host's function for notifications.
 */
import { nameOf, NotificationListener } from "@doorhook/core"
import { notificationDocument } from "@doorhook/server"
import type { NotificationDocument } from "@doorhook/server"
import { Effect, Layer, Predicate } from "effect"

/** Called with each notification, one after the other. What it throws, or rejects with, is logged. */
export type OnNotification = (notification: NotificationDocument) => unknown

/** What is wrong with it: a host in plain JavaScript has no types to rely on. */
export const problemsOf = (given: unknown): ReadonlyArray<string> =>
  given === undefined || Predicate.isFunction(given)
    ? []
    : [`onNotification: must be a function or left out, not ${nameOf(given)}`]

/** Passes notifications on to the host's function, if there is one. */
export const layer = (onNotification: OnNotification | undefined): Layer.Layer<never> =>
  onNotification === undefined
    ? Layer.empty
    : Layer.succeed(NotificationListener, (notification) =>
        Effect.promise(async () => onNotification(notificationDocument(notification)))
      )
