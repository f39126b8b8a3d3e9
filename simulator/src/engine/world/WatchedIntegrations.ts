/**
 * The store of integrations as one process sees it.
 */
import type { Integration, IntegrationStore } from "@doorhook/core"
import { Effect } from "effect"
import type { Watching } from "./WatchedStore.ts"

export const watchedIntegrations = (
  integrations: IntegrationStore["Service"],
  { call, changed, history }: Watching
): IntegrationStore["Service"] => {
  const note = (what: "created" | "saved" | "deleted", integration: Integration, key: string | null = null) =>
    Effect.sync(() => {
      history.add({ kind: "integration", what, integration, key })
      if (what !== "created") changed(integration.id)
    })
  return {
    ...integrations,
    create: (fields, key, limit) =>
      call(
        "create",
        Effect.tap(integrations.create(fields, key, limit), (made) => note("created", made, key?.key ?? null))
      ),
    find: (id) => call("find", integrations.find(id)),
    locate: (id) => call("locate", integrations.locate(id)),
    update: (integration, version) =>
      call(
        "update",
        Effect.tap(integrations.update(integration, version), (done) =>
          done ? note("saved", integration) : Effect.void
        )
      ),
    remove: (found) =>
      call(
        "remove",
        Effect.gen(function* () {
          const integration = yield* integrations.find(found.id)
          const done = yield* integrations.remove(found)
          if (done && integration !== null) yield* note("deleted", integration)
          return done
        })
      ),
    ofScopes: (scopes) => call("ofScopes", integrations.ofScopes(scopes)),
    survey: (filter) => call("survey", integrations.survey(filter)),
    surveyOne: (id) => call("surveyOne", integrations.surveyOne(id))
  }
}
