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
  Problem,
  ResourceType,
  ResourceTypeDefinition,
  ResourceTypeTable,
  Scope,
  Signing,
  IntegrationWithHealth
} from "@doorhook/core"
import {
  BuildingId,
  Crypto,
  details,
  DeliverySettings,
  Html,
  Integrations,
  integrationType,
  labelOf,
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
import { actorOf, keyOf, patchOf } from "./IntegrationPages.ts"
import { pathOf } from "./Parts.ts"
import type { LabelMaker } from "./Labels.ts"
import { nameOf } from "./Labels.ts"
import { seeOther } from "./Page.ts"
import type { PageEffect, Shown, Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"
import { typeName } from "./Summaries.ts"
import { formatJson } from "./Payload.ts"
import type { Snippet } from "./Snippets.ts"
import { keySnippets, snippets } from "./Snippets.ts"
import type { Language, TextKey } from "./Texts.ts"

/** Values entered in the integration form. */
interface Entered {
  readonly url: string
  readonly name: string
  readonly description: string
  readonly detail: string
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

  /** Makes the page with the empty form for a new integration. No event is selected, because data leaves the house. */
  emptyPage(visit: Visit, actor: Actor): PageEffect {
    const key = Base64Url.encode(this.#services.crypto.randomBytes(18))
    const place = visit.query.get("place") ?? ""
    return this.#newPage(visit, actor, { key, place, url: "", name: "", description: "", detail: "full", bindings: [] })
  }

  /** Makes the page with the form for a new integration, the values entered before, and the problems with them. */
  #newPage(
    visit: Visit,
    actor: Actor,
    entered: Entered & { readonly place: string; readonly key: string },
    problems: FormProblems = none
  ): Effect.Effect<Shown, KnownError> {
    const { t } = visit.language
    return Effect.map(this.#services.labels.placesOf(visit.language, actor), (places) => {
      const options = places.map(({ name, scope }) => [keyOf(scope), name] as const)
      const fields = Html.template`${Parts.hidden("key", entered.key)}${Parts.field("place", t("place"), (attributes) => Parts.select(attributes, options, entered.place))}${this.#fields(visit, entered, problems)}<div class="row"><button type="submit" class="primary">${t("create")}</button><a class="button quiet" href="${visit.home}">${t("cancel")}</a></div>`
      const form = Html.template`<section class="panel" aria-label="${t("new_integration")}">${Parts.form(visit, "/new", fields, "fields")}</section>`
      return this.#formPage(visit, t("new_integration"), problems, {
        place: "/new",
        form: options.length === 0 ? Html.template`<p>${t("no_places")}</p>` : form
      })
    })
  }

  /** Makes the page with the form for an integration's URL and bindings. */
  editPage(visit: Visit, { integration }: IntegrationWithHealth): Shown {
    const { bindings, configuration, description, detail, name } = integration
    const entered = { url: configuration.url, name: name ?? "", description: description ?? "", detail, bindings }
    return this.#editPage(visit, integration, entered, none)
  }

  #editPage(visit: Visit, integration: Integration, entered: Entered, problems: FormProblems): Shown {
    const { t } = visit.language
    const path = pathOf(visit, integration.id)
    const fields = Html.template`${Parts.hidden("version", String(integration.version))}${this.#fields(visit, entered, problems)}<div class="row"><button type="submit" class="primary">${t("save")}</button><a class="button quiet" href="${visit.home}${path}">${t("cancel")}</a></div>`
    const form = Html.template`<section class="panel" aria-label="${t("edit")}">${Parts.form(visit, `${path}/edit`, fields, "fields")}</section>`
    return this.#formPage(visit, t("edit_title", { name: nameOf(integration) }), problems, { place: "", form })
  }

  /** Makes a page with a form, and with the problems that belong to no field. */
  #formPage(
    { language: { t } }: Visit,
    title: string,
    problems: FormProblems,
    { form, place }: { readonly form: Html.Html; readonly place: string }
  ): Shown {
    const isRefused = problems !== none
    return {
      title: isRefused ? t("error_title", { title }) : title,
      place,
      status: isRefused ? 422 : 200,
      body: Html.template`<h1>${title}</h1>
${problems.other === null ? null : Parts.alert(problems.other)}${form}`
    }
  }

  /** Makes the fields for an integration's name, URL, bindings, detail and description. */
  #fields(
    { language }: Visit,
    { bindings, description, detail, name, url }: Entered,
    problems: FormProblems
  ): Html.Html {
    const { types } = this.#services
    const { t } = language
    const nameField = (attributes: Html.Html) =>
      Html.template`<input type="text" ${attributes} value="${name}" autocomplete="off">`
    const urlField = (attributes: Html.Html) =>
      Html.template`<input type="url" ${attributes} value="${url}" required placeholder="https://" autocomplete="off" autocapitalize="none" spellcheck="false">`
    const descriptionField = (attributes: Html.Html) =>
      Html.template`<textarea ${attributes} rows="2">${description}</textarea>`
    const choicesOfDetail = details.map((one) => [one, t(`detail_${one}`)] as const)
    const detailField = (attributes: Html.Html) => Parts.select(attributes, choicesOfDetail, detail)
    const described = problems.bindings === null ? null : Html.template` aria-describedby="${boxName}-problem"`
    const choices = [...types].map(([type, definition]) => typeChoice(language, types, type, definition, bindings))
    return Html.template`${Parts.field("name", t("name"), nameField, t("name_hint"), problems.name)}${Parts.field("url", t("url"), urlField, t("url_hint"), problems.url)}<fieldset${described}><legend>${t("which_events")}</legend>
${Parts.problemText(boxName, problems.bindings)}${choices}</fieldset>
${Parts.field("detail", t("detail"), detailField, t("detail_hint"), problems.detail)}${Parts.field("description", t("description"), descriptionField, t("description_hint"), problems.description)}`
  }

  /** Reads the values of the integration form. */
  #enteredIn(fields: URLSearchParams): Entered {
    const chosen = fields.getAll(boxName).map((text) => text.split(" ", 2))
    const bindings = [...this.#services.types.keys()].flatMap((type): ReadonlyArray<Binding> => {
      const actions = chosen.flatMap(([name, action]) => (name === type && action !== undefined ? [action] : []))
      return actions.length === 0 ? [] : [{ resource_type: type, actions }]
    })
    const text = (name: string): string => (fields.get(name) ?? "").trim()
    return { url: text("url"), name: text("name"), description: text("description"), detail: text("detail"), bindings }
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
    // A new integration gets as much as the host allows.
    const detail = entered.detail === "full" ? "" : entered.detail
    const document = { data: { type: integrationType, attributes: attributesOf({ ...entered, detail }) } }
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
    const { integrator: _, ...changes } = attributesOf(entered)
    const document = patchOf(id, changes)
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
    return this.#services.integrations.rotateSecret(actorOf(visit, found), scope, id, expected(fields)).pipe(
      Effect.map((integration) => secretPage(visit, integration, "rotated_title")),
      // A browser that loads the page again sends the form again.
      Effect.catchTag("VersionConflict", () => Effect.succeed(shownPage(visit, found.integration)))
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

/** Returns the attributes of a document. A form that says nothing about detail leaves it as it is. */
const attributesOf = ({ bindings, description, detail, name, url }: Entered) => ({
  integrator: "webhook" as const,
  configuration: { url, method: "post" as const },
  name,
  description,
  bindings,
  ...(detail !== "" && { detail })
})

/** Makes the checkboxes of a resource type, with what the type means and a sample. */
const typeChoice = (
  language: Language,
  types: ResourceTypeTable,
  type: ResourceType,
  { actions, description, example }: ResourceTypeDefinition,
  bindings: ReadonlyArray<Binding>
): Html.Html => {
  const { t } = language
  const bound = bindings.find(({ resource_type }) => resource_type === type)?.actions ?? []
  const title = typeName(language, types, type)
  const about = description ?? (type === "call" || type === "access_log" ? t(`about_${type}`) : null)
  const box = (action: string, words: Html.Part) =>
    Html.template`<label class="box"><input type="checkbox" name="${boxName}" value="${type} ${action}"${bound.includes(action) ? Html.template` checked` : null}> <span>${words}</span></label>\n`
  const [only] = actions
  const sample = example === undefined ? null : formatJson(JSON.stringify(example))
  return Html.template`<div class="choice">${
    actions.length === 1 && only !== undefined
      ? box(
          only,
          Html.template`<b>${title}</b>${about === null ? null : Html.template`<span class="under">${about}</span>`}`
        )
      : Html.template`<p><b>${title}</b>${about === null ? null : Html.template`<span class="under">${about}</span>`}</p>${actions.map((action) => box(action, labelOf(action)))}`
  }${
    sample === null
      ? null
      : Html.template`<details id="sample-${type}"><summary>${t("sample")}<span class="hidden"> ${title}</span></summary><pre tabindex="0" aria-label="${t("sample")} ${title}">${sample}</pre></details>`
  }</div>
`
}

/** Returns the version that the integration had when the form was shown; null to accept any version. */
const expected = (fields: URLSearchParams): ReadonlyArray<number> | null => {
  const text = fields.get("version") ?? ""
  return /^\d{1,15}$/.test(text) ? [Number(text)] : null
}

/** The problems with a form, by field. `other` are those that belong to none. */
type FormProblems = Readonly<Record<"name" | "url" | "bindings" | "detail" | "description" | "other", Html.Html | null>>

const none: FormProblems = { name: null, url: null, bindings: null, detail: null, description: null, other: null }

/** Returns the field that a problem in the document is about. */
const fieldOf = (pointer: string): keyof FormProblems => {
  const path = pointer.replace("/data/attributes/", "")
  if (path.startsWith("configuration")) return "url"
  if (path.startsWith("bindings")) return "bindings"
  return path === "name" || path === "description" || path === "detail" ? path : "other"
}

/** Sorts the problems with a form by field, in the words of an owner. */
const problemsWith = ({ language }: Visit, error: InvalidInput | LimitReached): FormProblems => {
  if (error._tag === "LimitReached")
    return { ...none, other: Parts.problemList(language, [{ detail: error.message, said: error.said }]) }
  const inWords = (problem: Problem, of: keyof FormProblems): Parameters<typeof Parts.problemList>[1][number] => {
    if (of === "bindings") return { ...problem, said: { key: "no_events" } }
    return problem.said?.key === "url_refused_address"
      ? { ...problem, said: { ...problem.said, key: "url_refused_owner" } }
      : problem
  }
  const of = (name: keyof FormProblems): Html.Html | null => {
    const found = error.problems.filter(({ pointer }) => fieldOf(pointer) === name)
    return found.length === 0
      ? null
      : Parts.problemList(
          language,
          found.map((problem) => inWords(problem, name))
        )
  }
  return {
    name: of("name"),
    url: of("url"),
    bindings: of("bindings"),
    detail: of("detail"),
    description: of("description"),
    other: of("other")
  }
}

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
${title === "rotated_title" ? Html.template`<p>${t("secret_overlap")}</p>` : null}
<code id="secret">${Redacted.value(integration.signing_secret)}</code>
<p class="row">${Parts.copyButton(visit.language, "secret")}
<a class="button primary" href="${home}${path}">${t("secret_kept")}</a></p></section>`
  }
}

/** Makes the page for a form that would replace a secret again. */
const shownPage = (visit: Visit, { id }: Integration): Shown => {
  const { t } = visit.language
  return {
    title: t("secret_shown_title"),
    place: "",
    status: 412,
    body: Html.template`<h1>${t("secret_shown_title")}</h1>
<p>${t("secret_shown")}</p>
<p><a class="button primary" href="${visit.home}${pathOf(visit, id)}">${t("back_to_integration")}</a></p>`
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
