/**
 * The operator's page with the registered OAuth clients and users' grants.
 */
import { Html } from "@doorhook/core"
import { Effect } from "effect"
import { clientOperations } from "../operator/Clients.ts"
import type { ClientWithSecretDocument } from "../operator/Clients.ts"
import { grantOperations } from "../operator/Grants.ts"
import { OperatorApi } from "../operator/OperatorApi.ts"
import { seeOther } from "./Page.ts"
import type { Shown, Visit } from "./Parts.ts"
import { after, ago, ask, copyButton, field, form, hidden, panel, table } from "./Parts.ts"

export const makeClientPages = Effect.gen(function* () {
  const { call } = yield* OperatorApi

  /** Makes the page with all clients, and with the grants of the user in the query. `above` is the result of a form. */
  const page = Effect.fnUntraced(function* (visit: Visit, above: Html.Html | null = null) {
    const {
      home,
      language: { count, t },
      query
    } = visit
    const { clients } = yield* call(clientOperations.list)
    const rows = clients.map((client): ReadonlyArray<Html.Part> => {
      const ends = client.secrets.flatMap(({ expires_at }) => (expires_at === null ? [] : [Date.parse(expires_at)]))
      const own = hidden("id", client.id)
      return [
        Html.template`<span class="mono">${client.id}</span>`,
        client.name,
        Html.template`<span class="mono">${client.redirect_uris.join(" ")}</span>`,
        client.confidential
          ? Html.template`${count("secrets", client.secrets.length)}${ends.map((end) => Html.template`, ${t("one_ends")} ${ago(visit, end)}`)}`
          : t("public_client"),
        ago(visit, Date.parse(client.created_at)),
        Html.template`<div class="row">${
          client.confidential
            ? ask(visit, "/clients/rotate", {
                label: t("rotate"),
                text: t("rotate_client_ask"),
                fields: own,
                danger: true
              })
            : null
        }${ask(visit, "/clients/remove", { label: t("remove"), text: t("remove_client_ask"), fields: own, danger: true })}</div>`
      ]
    })
    const user = query.get("user_id") ?? ""
    const addFields = Html.template`${field("name", t("client_name"), (attributes) => Html.template`<input type="text" ${attributes} required>`)}${field("id", t("client_id"), (attributes) => Html.template`<input type="text" ${attributes} autocapitalize="none" spellcheck="false">`, t("client_id_hint"))}${field("redirect_uris", t("redirect_uris"), (attributes) => Html.template`<textarea ${attributes} rows="3" required spellcheck="false"></textarea>`, t("redirect_uris_hint"))}<label class="box"><input type="checkbox" name="confidential" value="yes" checked> ${t("confidential_client")}</label>
<button type="submit">${t("register")}</button>`
    return {
      title: t("clients"),
      place: "/clients",
      body: Html.template`<h1>${t("clients")}</h1>
${above}${panel("registered", t("registered_clients"), table(t("clients"), [t("client_id"), t("client_name"), t("redirect_uris"), t("client_secret"), t("created"), t("actions")], rows, t("no_clients")))}
${panel("register", t("register_client"), Html.template`<details><summary>${t("register_client")}</summary>${form(visit, "/clients", addFields, "fields")}</details>`)}
${panel(
  "grants",
  t("grants"),
  Html.template`<p class="muted">${t("grants_text")}</p>
<form method="get" action="${home}/clients" class="filters" role="search">${field("user_id", t("user_id"), (attributes) => Html.template`<input type="text" ${attributes} value="${user}" required autocapitalize="none" spellcheck="false">`)}<button type="submit" class="quiet">${t("show")}</button></form>
${user === "" ? null : yield* grantList(visit, user)}`
)}`
    } satisfies Shown
  })

  const grantList = Effect.fnUntraced(function* (visit: Visit, user: string) {
    const {
      language: { t }
    } = visit
    const { grants } = yield* call(grantOperations.list, { query: new URLSearchParams({ user_id: user }).toString() })
    const rows = grants.map((grant): ReadonlyArray<Html.Part> => [
      grant.client_name ?? t("deleted_client"),
      Html.template`<span class="mono">${grant.client_id}</span>`,
      grant.scope,
      ago(visit, Date.parse(grant.created_at)),
      ask(visit, "/clients/revoke", {
        label: t("revoke"),
        text: t("revoke_ask"),
        fields: Html.template`${hidden("user_id", user)}${hidden("client_id", grant.client_id)}`,
        danger: true
      })
    ])
    const columns = [t("client_name"), t("client_id"), t("scope"), t("created"), t("actions")]
    return Html.template`${table(t("grants"), columns, rows, t("no_grants"))}${
      rows.length === 0
        ? null
        : ask(visit, "/clients/revoke", {
            label: t("revoke_all"),
            text: t("revoke_all_ask"),
            fields: hidden("user_id", user),
            danger: true
          })
    }`
  })

  /** Makes the page shown after a client or secret was created. Only this answer contains the secret. */
  const secretOf = (visit: Visit, { client, client_secret }: ClientWithSecretDocument) => {
    const { t } = visit.language
    return page(
      visit,
      Html.template`<section class="notice" role="status" aria-label="${t("client_secret")}"><p>${t("client_registered", { id: client.id })}</p>
${
  client_secret === null
    ? null
    : Html.template`<p>${t("secret_once")}</p>
<code id="secret">${client_secret}</code>
${copyButton(visit.language, "secret")}`
}</section>`
    )
  }

  const add = (visit: Visit, fields: URLSearchParams) => {
    const id = (fields.get("id") ?? "").trim()
    const document = {
      ...(id !== "" && { id }),
      name: fields.get("name") ?? "",
      redirect_uris: (fields.get("redirect_uris") ?? "").split(/\s+/).filter((uri) => uri !== ""),
      confidential: fields.get("confidential") === "yes"
    }
    return Effect.flatMap(call(clientOperations.add, { body: JSON.stringify(document) }), (made) =>
      secretOf(visit, made)
    )
  }

  const rotate = (visit: Visit, fields: URLSearchParams) =>
    Effect.flatMap(call(clientOperations.rotate, { params: { id: fields.get("id") ?? "" } }), (made) =>
      secretOf(visit, made)
    )

  const remove = (visit: Visit, fields: URLSearchParams) =>
    Effect.map(call(clientOperations.remove, { params: { id: fields.get("id") ?? "" } }), () =>
      seeOther(after(`${visit.home}/clients`, "removed"))
    )

  /** Ends a user's grants to one client, or to all clients. */
  const revoke = (visit: Visit, fields: URLSearchParams) => {
    const user_id = fields.get("user_id") ?? ""
    const client_id = fields.get("client_id")
    const document = { user_id, ...(client_id !== null && { client_id }) }
    return Effect.map(call(grantOperations.revoke, { body: JSON.stringify(document) }), ({ grants }) => {
      const query = new URLSearchParams({ user_id }).toString()
      return seeOther(after(`${visit.home}/clients?${query}`, "revoked", grants))
    })
  }

  return { page, add, rotate, remove, revoke }
})
