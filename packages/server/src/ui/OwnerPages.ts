/**
 * Pages of owners: list, create, edit and delete the integrations of their buildings and tenants, rotate signing
 * secrets, and copy code that verifies signatures. Core enforces the rules, and checks the owner's right in the
 * directory at each call.
 */
import type {
  Actor,
  Binding,
  Integration,
  InvalidInput,
  LimitReached,
  Scope,
  Signing,
  IntegrationWithHealth
} from "@doorhook/core"
import {
  BuildingId,
  Crypto,
  DeliverySettings,
  Html,
  Integrations,
  integrationType,
  parsePositiveInt,
  ServiceKey,
  Signature,
  signsWithSecret,
  ResourceTypes,
  TenantId
} from "@doorhook/core"
import { Effect, Option, Redacted } from "effect"
import { Base64Url } from "effect/encoding"
import type { KnownError } from "../http/Failures.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { Answer } from "../http/Route.ts"
import { actorOf, keyOf, patchOf, pathOf } from "./IntegrationPages.ts"
import type { LabelMaker } from "./Labels.ts"
import { seeOther } from "./Page.ts"
import type { PageEffect, Shown, Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"
import type { Snippet } from "./Snippets.ts"
import { keySnippets, snippets } from "./Snippets.ts"
import type { Language, TextKey } from "./Texts.ts"

/** Values entered in the integration form. */
interface Entered {
  readonly url: string
  readonly bindings: ReadonlyArray<Binding>
}

/** Field name of the checkboxes. Each checkbox represents one action of a resource type. */
const boxName = "binding"

const servicesOf = Effect.gen(function* () {
  const serviceKey = yield* ServiceKey
  return {
    crypto: yield* Crypto,
    integrations: yield* Integrations,
    publicKey: serviceKey === null ? null : yield* Signature.publicKeyOf(serviceKey),
    publicUrl: yield* PublicUrl,
    signing: (yield* DeliverySettings).signing,
    types: yield* ResourceTypes
  }
})
type Services = Effect.Success<typeof servicesOf> & { readonly labels: LabelMaker }

export class OwnerPages {
  static make(labels: LabelMaker) {
    return Effect.map(servicesOf, (services) => new OwnerPages({ ...services, labels }))
  }

  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  /** Makes the page with the empty form for a new integration. All events are selected. */
  emptyPage(visit: Visit, actor: Actor): PageEffect {
    const { crypto, types } = this.#services
    return this.#newPage(visit, actor, {
      key: Base64Url.encode(crypto.randomBytes(18)),
      place: visit.query.get("place") ?? "",
      url: "",
      bindings: [...types].map(([resource_type, { actions }]) => ({ resource_type, actions }))
    })
  }

  /** Makes the page with the form for a new integration, the values entered before, and the problem with them. */
  #newPage(
    visit: Visit,
    actor: Actor,
    entered: Entered & { readonly place: string; readonly key: string },
    problem: Html.Html | null = null
  ): Effect.Effect<Shown, KnownError> {
    const { t } = visit.language
    return Effect.map(this.#services.labels.placesOf(visit.language, actor), (places) => {
      const options = places.map(({ name, scope }) => [keyOf(scope), name] as const)
      const fields = Html.template`${Parts.hidden("key", entered.key)}${Parts.field("place", t("place"), (attributes) => Parts.select(attributes, options, entered.place))}${this.#fields(visit, entered)}<button type="submit">${t("create")}</button>`
      return {
        title: t("new_integration"),
        place: "/new",
        status: problem === null ? 200 : 422,
        body: Html.template`<h1>${t("new_integration")}</h1>
${problem}${options.length === 0 ? Html.template`<p>${t("no_places")}</p>` : Html.template`<section class="panel" aria-label="${t("new_integration")}">${Parts.form(visit, "/new", fields, "fields")}</section>`}`
      }
    })
  }

  /** Makes the page with the form for an integration's URL and bindings. */
  editPage(visit: Visit, { integration }: IntegrationWithHealth): Shown {
    const { bindings, configuration } = integration
    return this.#editPage(visit, integration, { url: configuration.url, bindings })
  }

  #editPage(
    visit: Visit,
    { id, version }: Pick<Integration, "id" | "version">,
    entered: Entered,
    problem: Html.Html | null = null
  ): Shown {
    const base = visit.home
    const { t } = visit.language
    const path = pathOf(visit, id)
    const fields = Html.template`${Parts.hidden("version", String(version))}${this.#fields(visit, entered)}<button type="submit">${t("save")}</button> <a class="button quiet" href="${base}${path}">${t("cancel")}</a>`
    return {
      title: t("edit_title", { id }),
      place: "",
      status: problem === null ? 200 : 422,
      body: Html.template`<h1>${t("edit_title", { id })}</h1>
${problem}<section class="panel" aria-label="${t("edit")}">${Parts.form(visit, `${path}/edit`, fields, "fields")}</section>`
    }
  }

  /** Makes the fields for an integration's URL and bindings. */
  #fields({ language, language: { t } }: Visit, { bindings, url }: Entered): Html.Html {
    const isBound = (type: string, action: string): boolean =>
      bindings.some(({ actions, resource_type }) => resource_type === type && actions.includes(action))
    const boxes = [...this.#services.types].flatMap(([type, { actions }]) =>
      actions.map(
        (action) =>
          Html.template`<label class="box"><input type="checkbox" name="${boxName}" value="${type} ${action}"${isBound(type, action) ? Html.template` checked` : null}> ${Parts.typeName(language, type)}${actions.length === 1 ? null : ` (${action})`}</label>\n`
      )
    )
    return Html.template`${Parts.field("url", t("url"), (attributes) => Html.template`<input type="url" ${attributes} value="${url}" required class="wide" autocomplete="off" autocapitalize="none" spellcheck="false">`, t("url_hint"))}<fieldset><legend>${t("which_events")}</legend>
${boxes}</fieldset>
`
  }

  /** Reads the values of the integration form. */
  #enteredIn(fields: URLSearchParams): Entered {
    const chosen = fields.getAll(boxName).map((text) => text.split(" ", 2))
    const bindings = [...this.#services.types.keys()].flatMap((type): ReadonlyArray<Binding> => {
      const actions = chosen.flatMap(([name, action]) => (name === type && action !== undefined ? [action] : []))
      return actions.length === 0 ? [] : [{ resource_type: type, actions }]
    })
    return { url: (fields.get("url") ?? "").trim(), bindings }
  }

  /**
   * Creates an integration. Only this answer shows its secret, if requests are signed with it. Submitting a form twice
   * creates only one integration.
   */
  create(visit: Visit, actor: Actor, fields: URLSearchParams): PageEffect {
    const { integrations, signing } = this.#services
    const place = fields.get("place") ?? ""
    const scope = scopeOf(place)
    if (scope === null) return Parts.formFailure(404, "not_found", "Not found", { key: "no_place" })
    const entered = this.#enteredIn(fields)
    const key = fields.get("key") ?? ""
    const document = { data: { type: integrationType, attributes: attributesOf(entered) } }
    return Effect.matchEffect(integrations.create(actor, scope, document, key === "" ? null : key), {
      onFailure: (error): PageEffect =>
        error._tag === "InvalidInput" || error._tag === "LimitReached"
          ? this.#newPage(visit, actor, { ...entered, place, key }, problemsWith(visit, error))
          : Effect.fail(error),
      onSuccess: ({ integration, replayed }): PageEffect => {
        const path = `${visit.home}${pathOf(visit, integration.id)}`
        if (replayed) return Effect.succeed(seeOther(path))
        return Effect.succeed(
          signsWithSecret(signing)
            ? secretPage(visit, integration, "created_title")
            : seeOther(Parts.after(path, "created"))
        )
      }
    })
  }

  /** Changes an integration's URL and bindings. Fails if the integration has been changed since the form was shown. */
  edit(visit: Visit, found: IntegrationWithHealth, fields: URLSearchParams): PageEffect {
    const { id, scope } = found.integration
    const entered = this.#enteredIn(fields)
    const { bindings, configuration } = attributesOf(entered)
    const document = patchOf(id, { configuration: { url: configuration.url }, bindings })
    const changed = this.#services.integrations.patch(actorOf(visit, found), scope, id, document, expected(fields))
    return Effect.matchEffect(changed, {
      onFailure: (error): PageEffect =>
        error._tag === "InvalidInput"
          ? Effect.succeed(this.#editPage(visit, found.integration, entered, problemsWith(visit, error)))
          : Effect.fail(error),
      onSuccess: () => Effect.succeed(seeOther(Parts.after(`${visit.home}${pathOf(visit, id)}`, "saved")))
    })
  }

  rotate(visit: Visit, found: IntegrationWithHealth, fields: URLSearchParams): PageEffect {
    const { id, scope } = found.integration
    return Effect.map(
      this.#services.integrations.rotateSecret(actorOf(visit, found), scope, id, expected(fields)),
      (integration) => secretPage(visit, integration, "rotated_title")
    )
  }

  /** Deletes an integration. Returns null for the holder of a link, who has no other page to go to. */
  remove(
    visit: Visit,
    found: IntegrationWithHealth,
    fields: URLSearchParams
  ): Effect.Effect<Answer | null, KnownError> {
    const { id, scope } = found.integration
    return Effect.as(
      this.#services.integrations.remove(actorOf(visit, found), scope, id, expected(fields)),
      visit.link === null ? seeOther(Parts.after(visit.home, "deleted")) : null
    )
  }

  /** Makes the page with code that verifies signatures, in the chosen programming language. */
  verifyPage(visit: Visit, { integration }: IntegrationWithHealth): Shown {
    const { language, query } = visit
    const { t } = language
    const { publicKey, publicUrl, signing } = this.#services
    const path = `${visit.home}${pathOf(visit, integration.id)}`
    const { code, text } = verification[signing]
    const chosen = code.find(({ id }) => id === query.get("in")) ?? code[0]
    return {
      title: t("verify"),
      place: "",
      body: Html.template`<p><a href="${path}">${t("back_to_integration")}</a></p>
<h1>${t("verify")}</h1>
<p>${t(text)}</p>
${signing === "ed25519" ? publicKeyPanel(language, publicKey, `${publicUrl.url}/v4/webhook_keys`) : null}${
        chosen === undefined
          ? null
          : Html.template`<nav class="row tabs" aria-label="${t("verify_language")}">${code.map(
              ({ id, language: name }) =>
                Html.template`<a class="button quiet" href="${path}/verify?in=${id}"${id === chosen.id ? Html.template` aria-current="true"` : null}>${name}</a>`
            )}</nav>
<pre tabindex="0" id="snippet" class="code" aria-label="${chosen.language}">${chosen.code}</pre>
<p class="row">${Parts.copyButton(language, "snippet")}</p>`
      }`
    }
  }
}

const scopeOf = (key: string): Scope | null => {
  const [type, id = ""] = key.split("-", 2)
  if (type === "building")
    return Option.getOrNull(Option.map(parsePositiveInt(BuildingId, id), (parsed) => ({ type, id: parsed })))
  if (type === "tenant")
    return Option.getOrNull(Option.map(parsePositiveInt(TenantId, id), (parsed) => ({ type, id: parsed })))
  return null
}

const attributesOf = ({ bindings, url }: Entered) => ({
  integrator: "webhook" as const,
  configuration: { url, method: "post" as const },
  bindings
})

/** Returns the version that the integration had when the form was shown; null to accept any version. */
const expected = (fields: URLSearchParams): ReadonlyArray<number> | null => {
  const text = fields.get("version") ?? ""
  return /^\d{1,15}$/.test(text) ? [Number(text)] : null
}

/** Makes the alert above the form. A problem with the bindings is shown as a text about the checkboxes. */
const problemsWith = ({ language }: Visit, error: InvalidInput | LimitReached): Html.Html =>
  Parts.alert(
    Parts.problemList(
      language,
      error._tag === "InvalidInput"
        ? error.problems.map((problem) =>
            problem.pointer === "/data/attributes/bindings" ? { ...problem, said: { key: "no_events" } } : problem
          )
        : [{ detail: error.message, said: error.said }]
    )
  )

/** Makes the only page that shows a signing secret. */
const secretPage = (visit: Visit, integration: Integration, title: "created_title" | "rotated_title"): Shown => {
  const { home } = visit
  const { t } = visit.language
  const path = pathOf(visit, integration.id)
  return {
    title: t(title),
    place: "",
    body: Html.template`<h1>${t(title)}</h1>
<section class="panel" aria-labelledby="secret-title"><h2 id="secret-title">${t("secret")}</h2>
<p>${t("secret_once")}</p>
<code id="secret">${Redacted.value(integration.signing_secret)}</code>
<p class="row">${Parts.copyButton(visit.language, "secret")}
<a class="button" href="${home}${path}">${t("secret_kept")}</a> <a class="button quiet" href="${home}${path}/verify">${t("verify")}</a></p></section>`
  }
}

/** How receivers verify signatures, by signing scheme. */
const verification: Readonly<Record<Signing, { readonly text: TextKey; readonly code: ReadonlyArray<Snippet> }>> = {
  hmac: { text: "verify_text", code: snippets },
  both: { text: "verify_text", code: snippets },
  ed25519: { text: "verify_key_text", code: keySnippets },
  off: { text: "verify_off_text", code: [] }
}

const publicKeyPanel = (language: Language, publicKey: string | null, url: string): Html.Html => {
  const { html, t } = language
  return Parts.panel(
    "key-title",
    t("public_key"),
    Html.template`${publicKey === null ? null : Html.template`<code id="key">${publicKey}</code><p class="row">${Parts.copyButton(language, "key")}</p>`}
<p class="muted">${html("public_key_hint", { url: Html.template`<a href="${url}">${url}</a>` })}</p>`
  )
}
