/**
 * Serves other websites, each with one page.
 */
import { Effect, Scope } from "effect"
import { createServer } from "node:http"
import { listening } from "@doorhook/testkit/ListeningServer"

/** The app's page, to which users return after logging in. */
export const welcome =
  '<!doctype html><html lang="en"><title>Pocket app</title><link rel="icon" href="data:,"><h1>Welcome'

/** Returns a function that serves a page on a separate port until the scope is closed, and returns the page's URL. */
export const openSites = Effect.map(
  Effect.scope,
  (scope) => (html: string) =>
    listening(createServer((_, response) => response.setHeader("content-type", "text/html").end(html))).pipe(
      Effect.map(({ url }) => url),
      Scope.provide(scope),
      Effect.runPromise
    )
)
