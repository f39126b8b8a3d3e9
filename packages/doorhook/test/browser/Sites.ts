/**
 * Other sites, with one page each.
 */
import { Effect, Scope } from "effect"
import { createServer } from "node:http"
import { listening } from "@doorhook/testkit/ListeningServer"

/** The page of an app that users come back to. */
export const welcome =
  '<!doctype html><html lang="en"><title>Pocket app</title><link rel="icon" href="data:,"><h1>Welcome'

/** Opens sites as long as the scope lives; each answers its address. */
export const openSites = Effect.map(
  Effect.scope,
  (scope) => (html: string) =>
    listening(createServer((_, response) => response.setHeader("content-type", "text/html").end(html))).pipe(
      Effect.map(({ url }) => url),
      Scope.provide(scope),
      Effect.runPromise
    )
)
