/**
 * The operator's page with the registered OAuth clients and users' grants.
 */
import type { Actor } from "@doorhook/core"
import { Html } from "@doorhook/core"
import { Effect } from "effect"
import type { KnownError } from "../http/Failures.ts"
import { clientOperations } from "../operator/ClientOperations.ts"
import type { ClientDocument, ClientWithSecretDocument } from "../operator/ClientOperations.ts"
import type { GrantDocument } from "../operator/GrantOperations.ts"
import { grantOperations } from "../operator/GrantOperations.ts"
import { OperatorApi } from "../operator/OperatorApi.ts"
import { seeOther } from "./Page.ts"
import type { PageEffect, Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"

export class ClientPages {
  static readonly make = Effect.map(OperatorApi, ({ call }) => new ClientPages(call))
  readonly #call: OperatorApi["Service"]["call"]

  constructor(call: OperatorApi["Service"]["call"]) {
    this.#call = call
  }

  /** Makes the page with all clients, and with the grants of the user in the query. `above` is the result of a form. */
  page(visit: Visit, above: Html.Html | null = null): PageEffect {
    const { home, query } = visit
    const { t } = visit.language
    const user = query.get("user_id") ?? ""
    return Effect.gen({ self: this }, function* () {
      const { clients } = yield* this.#call(clientOperations.list)
      const columns = [
        t("client_id"),
        t("client_name"),
        t("redirect_uris"),
        t("client_secret"),
        t("created"),
        t("actions")
      ]
      const rows = clients.map((client, index) => clientRow(visit, client, index))
      return {
        title: t("clients"),
        place: "/clients",
        body: Html.template`<h1>${t("clients")}</h1>
${above}${Parts.panel("registered", t("registered_clients"), Parts.table(t("clients"), columns, rows, t("no_clients")))}
${Parts.panel("register", t("register_client"), Html.template`<details><summary>${t("register_client")}</summary>${Parts.form(visit, "/clients", newClientFields(visit), "fields")}</details>`)}
${Parts.panel(
  "grants",
  t("grants"),
  Html.template`<p class="muted">${t("grants_text")}</p>
<form method="get" action="${home}/clients" class="filters" role="search">${Parts.field("user_id", t("user_id"), (attributes) => Html.template`<input type="text" ${attributes} value="${user}" required autocapitalize="none" spellcheck="false">`)}<button type="submit" class="quiet">${t("show")}</button></form>
${user === "" ? null : yield* this.#grantsOf(visit, user)}`
)}`
      }
    })
  }

  #grantsOf(visit: Visit, user: string): Effect.Effect<Html.Html, KnownError> {
    const query = new URLSearchParams({ user_id: user }).toString()
    return Effect.map(this.#call(grantOperations.list, { query }), ({ grants }) => grantList(visit, user, grants))
  }

  add(visit: Visit, fields: URLSearchParams): PageEffect {
    const id = (fields.get("id") ?? "").trim()
    const document = {
      ...(id !== "" && { id }),
      name: fields.get("name") ?? "",
      redirect_uris: (fields.get("redirect_uris") ?? "").split(/\s+/).filter((uri) => uri !== ""),
      confidential: fields.get("confidential") === "yes"
    }
    return Effect.flatMap(this.#call(clientOperations.add, { body: JSON.stringify(document) }), (made) =>
      this.page(visit, secretOf(visit, made))
    )
  }

  rotate(visit: Visit, fields: URLSearchParams): PageEffect {
    return Effect.flatMap(this.#call(clientOperations.rotate, { params: { id: fields.get("id") ?? "" } }), (made) =>
      this.page(visit, secretOf(visit, made))
    )
  }

  remove(visit: Visit, fields: URLSearchParams): PageEffect {
    return Effect.map(this.#call(clientOperations.remove, { params: { id: fields.get("id") ?? "" } }), () =>
      seeOther(Parts.after(`${visit.home}/clients`, "removed"))
    )
  }

  /** Makes the page on which a user sees what they granted. */
  ownPage(visit: Visit, { user_id }: Actor): PageEffect {
    const { t } = visit.language
    const query = new URLSearchParams({ user_id }).toString()
    return Effect.map(this.#call(grantOperations.list, { query }), ({ grants }) => ({
      title: t("own_grants"),
      place: "/grants",
      body: Html.template`<h1>${t("own_grants")}</h1>
<p class="muted">${t("own_grants_text")}</p>
${grantList(visit, null, grants)}`
    }))
  }

  /** Ends the user's own grants to one client, or to all clients. The form can't name another user. */
  revokeOwn(visit: Visit, { user_id }: Actor, fields: URLSearchParams): PageEffect {
    const client_id = fields.get("client_id")
    const document = { user_id, ...(client_id !== null && { client_id }) }
    return Effect.map(this.#call(grantOperations.revoke, { body: JSON.stringify(document) }), ({ grants }) =>
      seeOther(Parts.after(`${visit.home}/grants`, "revoked", grants))
    )
  }

  /** Ends a user's grants to one client, or to all clients. */
  revoke(visit: Visit, fields: URLSearchParams): PageEffect {
    const user_id = fields.get("user_id") ?? ""
    const client_id = fields.get("client_id")
    const document = { user_id, ...(client_id !== null && { client_id }) }
    return Effect.map(this.#call(grantOperations.revoke, { body: JSON.stringify(document) }), ({ grants }) => {
      const query = new URLSearchParams({ user_id }).toString()
      return seeOther(Parts.after(`${visit.home}/clients?${query}`, "revoked", grants))
    })
  }
}

const clientRow = (visit: Visit, client: ClientDocument, index: number): ReadonlyArray<Html.Part> => {
  const { count, t } = visit.language
  const ends = client.secrets.flatMap(({ expires_at }) => (expires_at === null ? [] : [Date.parse(expires_at)]))
  const fields = Parts.hidden("id", client.id)
  const rotate = {
    id: `rotate-${index}`,
    label: t("rotate"),
    title: `${t("rotate")}: ${client.name}`,
    text: t("rotate_client_ask"),
    fields
  }
  const title = t("remove_named", { name: client.name })
  const remove = {
    id: `remove-${index}`,
    label: t("remove"),
    title: `${title}?`,
    text: t("remove_client_ask"),
    yes: title,
    fields,
    kind: "danger"
  } as const
  return [
    Html.template`<span class="mono">${client.id}</span>`,
    client.name,
    Html.template`<span class="mono">${client.redirect_uris.join(" ")}</span>`,
    client.jwks !== null
      ? t("with_keys")
      : client.confidential
        ? Html.template`${count("secrets", client.secrets.length)}${ends.map((end) => Html.template`, ${t("one_ends")} ${Parts.ago(visit, end)}`)}`
        : t("public_client"),
    Parts.ago(visit, Date.parse(client.created_at)),
    Html.template`<div class="row">${client.secrets.length > 0 ? Parts.ask(visit, "/clients/rotate", rotate) : null}${Parts.ask(visit, "/clients/remove", remove)}</div>`
  ]
}

const newClientFields = ({ language: { t } }: Visit): Html.Html =>
  Html.template`${Parts.field("name", t("client_name"), (attributes) => Html.template`<input type="text" ${attributes} required>`)}${Parts.field("id", t("client_id"), (attributes) => Html.template`<input type="text" ${attributes} autocapitalize="none" spellcheck="false">`, t("client_id_hint"))}${Parts.field("redirect_uris", t("redirect_uris"), (attributes) => Html.template`<textarea ${attributes} rows="3" required spellcheck="false"></textarea>`, t("redirect_uris_hint"))}<label class="box"><input type="checkbox" name="confidential" value="yes" checked> ${t("confidential_client")}</label>
<button type="submit">${t("register")}</button>`

/** Lists the grants of a user to an operator, or those of the visitor if `user` is null. */
const grantList = (visit: Visit, user: string | null, grants: ReadonlyArray<GrantDocument>): Html.Html => {
  const { t } = visit.language
  const of = user === null ? null : Parts.hidden("user_id", user)
  const revoke = (id: string, label: string, whose: string, text: string, fields: Html.Html): Html.Html =>
    Parts.ask(visit, user === null ? "/grants/revoke" : "/clients/revoke", {
      id,
      label,
      title: `${label}: ${whose}?`,
      text,
      yes: `${label}: ${whose}`,
      fields,
      kind: "danger"
    })
  const rows = grants.map((grant, index): ReadonlyArray<Html.Part> => [
    grant.client_name ?? t("deleted_client"),
    Html.template`<span class="mono">${grant.client_id}</span>`,
    grant.scope,
    Parts.ago(visit, Date.parse(grant.created_at)),
    Parts.ago(visit, Date.parse(grant.last_used_at)),
    revoke(
      `revoke-${index}`,
      t("revoke"),
      grant.client_name ?? grant.client_id,
      t("revoke_ask"),
      Html.template`${of}${Parts.hidden("client_id", grant.client_id)}`
    )
  ])
  const columns = [t("client_name"), t("client_id"), t("scope"), t("created"), t("last_use"), t("actions")]
  return Html.template`${Parts.table(t("grants"), columns, rows, t("no_grants"))}${
    rows.length === 0
      ? null
      : revoke("revoke-all", t("revoke_all"), user ?? t("own_grants"), t("revoke_all_ask"), of ?? Html.template``)
  }`
}

/** Makes the notice shown after a client or secret was created. Only this answer contains the secret. */
const secretOf = ({ language }: Visit, { client, client_secret }: ClientWithSecretDocument): Html.Html => {
  const { t } = language
  return Html.template`<section class="notice" role="status" aria-label="${t("client_secret")}"><p>${t("client_registered", { id: client.id })}</p>
${
  client_secret === null
    ? null
    : Html.template`<p>${t("secret_once")}</p>
<code id="secret">${client_secret}</code>
${Parts.copyButton(language, "secret")}`
}</section>`
}
