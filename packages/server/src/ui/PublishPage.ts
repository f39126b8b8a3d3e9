/**
 * The operator's form for publishing an event.
 */
import { Html, ResourceTypes } from "@doorhook/core"
import { Effect, Predicate } from "effect"
import { parseJson } from "../http/Documents.ts"
import type { RequestFailure } from "../http/Failures.ts"
import type { Answer } from "../http/Route.ts"
import { eventOperations } from "../operator/EventOperations.ts"
import { OperatorApi } from "../operator/OperatorApi.ts"
import { seeOther } from "./Page.ts"
import type { Shown, Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"
import { typeName } from "./Summaries.ts"

/** Returns the initial values of the form. */
const sample = (now: number) => ({
  kind: "access_log create",
  building_id: "1",
  tenant_ids: "",
  data: JSON.stringify(
    {
      id: Math.floor(now / 1_000) % 2_000_000_000,
      logged_at: new Date(now).toISOString(),
      access_point: 0,
      entry_method: "app",
      release_status: "Unlocked",
      name: "Test",
      image_url: null,
      test: true
    },
    null,
    2
  )
})
type Entered = ReturnType<typeof sample>

const enteredIn = (fields: URLSearchParams): Entered => ({
  kind: fields.get("kind") ?? "",
  building_id: fields.get("building_id") ?? "",
  tenant_ids: fields.get("tenant_ids") ?? "",
  data: fields.get("data") ?? ""
})

export const makePublishPages = Effect.gen(function* () {
  const { call } = yield* OperatorApi
  const types = yield* ResourceTypes

  const page = (
    visit: Visit,
    entered: Entered = sample(visit.now),
    above: Html.Html | null = null,
    status = 200
  ): Shown => {
    const { language } = visit
    const { t } = language
    const kinds = [...types].flatMap(([type, { actions }]) =>
      actions.map((action) => [`${type} ${action}`, `${typeName(language, types, type)}: ${action}`] as const)
    )
    const fields = Html.template`${Parts.field("kind", t("type"), (attributes) => Parts.select(attributes, kinds, entered.kind))}${Parts.field("building_id", t("building_id"), (attributes) => Html.template`<input type="text" inputmode="numeric" ${attributes} value="${entered.building_id}" required>`)}${Parts.field("tenant_ids", t("tenant_ids"), (attributes) => Html.template`<input type="text" ${attributes} value="${entered.tenant_ids}">`, t("tenant_ids_hint"))}${Parts.field("data", t("data"), (attributes) => Html.template`<textarea ${attributes} rows="12" class="mono" required spellcheck="false">${entered.data}</textarea>`)}<button type="submit">${t("publish_button")}</button>`
    return {
      title: t("publish"),
      place: "/publish",
      status,
      body: Html.template`<h1>${t("publish")}</h1>
<p>${t("publish_text")}</p>
${above}<section class="panel" aria-label="${t("publish")}">${Parts.form(visit, "/publish", fields, "fields")}</section>`
    }
  }

  /**
   * Publishes the event and redirects to its page. If the event is refused or gets a hint, shows the form again.
   */
  const publish = (visit: Visit, fields: URLSearchParams) =>
    Effect.gen(function* () {
      const entered = enteredIn(fields)
      const [resource_type = "", action = ""] = entered.kind.split(" ", 2)
      const data = yield* parseJson(entered.data)
      const head = JSON.stringify({
        resource_type,
        action,
        building_id: Number(entered.building_id),
        tenant_ids: entered.tenant_ids.split(/[\s,]+/).flatMap((id) => (id === "" ? [] : [Number(id)]))
      })
      // Passes the data on as it was entered, because parsing would change long numbers.
      const body = Predicate.isObject(data) ? `${head.slice(0, -1)},"data":${entered.data}}` : head
      const { events, hints = [] } = yield* call(eventOperations.publish, { body })
      const [event] = events
      if (event !== undefined && hints.length === 0) {
        return seeOther(Parts.after(`${visit.home}/events/${event.id}`, "published", event.deliveries))
      }
      return page(visit, entered, Html.template`<p class="notice" role="status" lang="en">${hints.join(" ")}</p>\n`)
    }).pipe(
      Effect.catchTag("RequestFailure", (failure: RequestFailure): Effect.Effect<Answer | Shown, RequestFailure> => {
        if (failure.status >= 500) return Effect.fail(failure)
        return Effect.succeed(
          page(visit, enteredIn(fields), Parts.alert(Parts.problemList(visit.language, failure.errors)), failure.status)
        )
      })
    )

  return { page, publish }
})
