/**
 * The host's function for notices.
 */
import { nameOf, NoticeListener } from "@doorhook/core"
import { noticeDocument } from "@doorhook/server"
import type { NoticeDocument } from "@doorhook/server"
import { Effect, Layer, Predicate } from "effect"

/** Called with each notice, one after the other. What it throws, or rejects with, is logged. */
export type OnNotice = (notice: NoticeDocument) => unknown

/** What is wrong with it: a host in plain JavaScript has no types to rely on. */
export const problemsOf = (given: unknown): ReadonlyArray<string> =>
  given === undefined || Predicate.isFunction(given)
    ? []
    : [`onNotice: must be a function or left out, not ${nameOf(given)}`]

/** Passes notices on to the host's function, if there is one. */
export const layer = (onNotice: OnNotice | undefined): Layer.Layer<never> =>
  onNotice === undefined
    ? Layer.empty
    : Layer.succeed(NoticeListener, (notice) => Effect.promise(async () => onNotice(noticeDocument(notice))))
