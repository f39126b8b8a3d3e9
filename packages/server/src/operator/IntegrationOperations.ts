/**
 * Operations on integrations for operators: list, show, create, import, change, probe, test, and portal links. Only
 * answers about created integrations include their secrets. Times are ISO 8601 UTC.
 */
import {
  Binding,
  creatingClient,
  Detail,
  DisabledReason,
  Dispatcher,
  DurationText,
  formatDeliveryId,
  HostIntegrations,
  IntegrationLabels,
  isoOf,
  isUnreadable,
  OperatorIntegrations,
  OverridesDocument,
  readSwitches,
  ResourceTypes,
  statusFilters,
  TestEvents,
  writeOverrides
} from "@doorhook/core"
import type { CatchingUp, IntegrationWithHealth, UnreadableIntegration } from "@doorhook/core"
import { Effect, Redacted, Schema } from "effect"
import { decodeDocument } from "../http/Documents.ts"
import { PageSecret } from "../http/PageSecret.ts"
import {
  all,
  integrationIdIn,
  pageOf,
  parseIntegrationId,
  readAfter,
  readChoice,
  readLimit,
  readSearch,
  searchParameters
} from "../http/Query.ts"
import { handler, operation, readBody, readOptionalBody } from "./Operation.ts"
import { defaultLinkLifetime, longestLinkLifetime, PortalLink, PortalLinks } from "./PortalLinks.ts"

/**
 * The owner of an integration. `id` is the host's own id. The integration with the owner `service` (id 1) receives
 * operators' notifications.
 */
export const OperatorScope = Schema.Struct({
  type: Schema.Literals(["building", "tenant", "service"]),
  id: Schema.Finite
})

export const OperatorIntegrationDocument = Schema.Struct({
  id: Schema.String,
  scope: OperatorScope,
  ...IntegrationLabels.fields,
  /** How much of an event's data the receiver gets. */
  detail: Detail,
  /** The client that created the integration, null without one, and the user whose right its deliveries require. */
  created_by: Schema.Struct({ user_id: Schema.String, client_id: Schema.NullOr(Schema.String) }),
  url: Schema.String,
  bindings: Schema.Array(Binding),
  status: Schema.Literals(["enabled", "disabled"]),
  disabled_reason: Schema.NullOr(DisabledReason),
  /** Start of the current failure, and the number of warnings about it; null if the integration is not failing. */
  failing: Schema.NullOr(Schema.Struct({ since: Schema.String, warnings: Schema.Finite })),
  /**
   * When this process began to send the integration's waiting retries early, after the receiver recovered; null
   * otherwise.
   */
  catching_up: Schema.NullOr(Schema.Struct({ since: Schema.String })),
  /** This integration's own settings, which override the service's settings. */
  overrides: Schema.toEncoded(OverridesDocument),
  created_at: Schema.String,
  updated_at: Schema.String
})
export type OperatorIntegrationDocument = typeof OperatorIntegrationDocument.Type

const CreatedDocument = Schema.Struct({
  ...OperatorIntegrationDocument.fields,
  /** The secret that the receiver verifies signatures with. No other call returns it. */
  signing_secret: Schema.String
})
export type CreatedIntegrationDocument = typeof CreatedDocument.Type

const ImportDocument = Schema.Struct({
  /** Problems, each with the place of its element in the list, counted from 0. */
  problems: Schema.Array(Schema.Struct({ at: Schema.Finite, pointer: Schema.String, detail: Schema.String })),
  /** Integrations that were created (`created`) or existed already. The secret is null if the import did not create it. */
  integrations: Schema.Array(
    Schema.Struct({
      at: Schema.Finite,
      id: Schema.String,
      created: Schema.Boolean,
      signing_secret: Schema.NullOr(Schema.String)
    })
  )
})
export type ImportDocument = typeof ImportDocument.Type

const UnreadableDocument = Schema.Struct({
  id: Schema.String,
  scope: OperatorScope,
  /** What is wrong with the integration's database row. */
  why: Schema.String
})

const PageDocument = Schema.Struct({
  integrations: Schema.Array(OperatorIntegrationDocument),
  /** Integrations whose database rows can't be read, because the rows were changed outside of doorhook. */
  unreadable: Schema.Array(UnreadableDocument),
  next: Schema.NullOr(Schema.String)
})
export type OperatorIntegrationPageDocument = typeof PageDocument.Type

/** The delivery of a test event. */
const TestSentDocument = Schema.Struct({
  /** The delivery's id, for `deliveries.show`. */
  delivery_id: Schema.String,
  event_id: Schema.String,
  /** The event's type. The integration is bound to this type. */
  resource_type: Schema.String
})
export type TestSentDocument = typeof TestSentDocument.Type

/** Largest bodies, in bytes. */
const maxChangeBytes = 16 * 1024
const maxImportBytes = 4 * 1024 * 1024
const maxLinkBytes = 4 * 1024

export const integrationOperations = {
  list: operation("integrations.list", "GET", "/operator/integrations", PageDocument, {
    query: ["status", ...searchParameters, "after", "limit"]
  }),
  create: operation("integrations.create", "POST", "/operator/integrations", CreatedDocument, {
    bodyLimit: maxChangeBytes,
    status: 201
  }),
  import: operation("integrations.import", "POST", "/operator/integration_imports", ImportDocument, {
    bodyLimit: maxImportBytes
  }),
  show: operation("integrations.show", "GET", "/operator/integrations/:id", OperatorIntegrationDocument),
  set: operation("integrations.set", "PATCH", "/operator/integrations/:id", OperatorIntegrationDocument, {
    bodyLimit: maxChangeBytes
  }),
  probe: operation(
    "integrations.probe",
    "POST",
    "/operator/integrations/:id/probe",
    Schema.Struct({ id: Schema.String, delivery_id: Schema.String }),
    { status: 202 }
  ),
  sendTestEvent: operation(
    "integrations.sendTestEvent",
    "POST",
    "/operator/integrations/:id/test_event",
    TestSentDocument,
    { status: 202 }
  ),
  createPortalLink: operation(
    "integrations.createPortalLink",
    "POST",
    "/operator/integrations/:id/portal_links",
    PortalLink,
    { bodyLimit: maxLinkBytes, status: 201 }
  ),
  /** Ends all portal links and their sessions, and invalidates open forms. */
  rotatePortalSecret: operation(
    "integrations.rotatePortalSecret",
    "POST",
    "/operator/portal/rotate_secret",
    Schema.Null,
    { status: 204 }
  )
}

const documentOf = (
  { failing, integration }: IntegrationWithHealth,
  catching_up: ReadonlyArray<CatchingUp>
): OperatorIntegrationDocument => {
  const catchingUp = catching_up.find(({ integration_id }) => integration_id === integration.id)
  return {
    id: String(integration.id),
    scope: integration.scope,
    name: integration.name,
    description: integration.description,
    detail: integration.detail,
    created_by: { user_id: integration.created_by.user_id, client_id: creatingClient(integration) },
    url: integration.configuration.url,
    bindings: integration.bindings,
    status: integration.status,
    disabled_reason: integration.disabled_reason,
    failing: failing === null ? null : { since: isoOf(failing.since), warnings: failing.warnings },
    catching_up: catchingUp === undefined ? null : { since: isoOf(catchingUp.since) },
    overrides: writeOverrides(integration.overrides),
    created_at: isoOf(integration.created_at),
    updated_at: isoOf(integration.updated_at)
  }
}

const unreadableOf = ({ id, scope, unreadable }: UnreadableIntegration): typeof UnreadableDocument.Type => ({
  id: String(id),
  scope,
  why: unreadable
})

/** Maximum number of integrations in one import. */
const maxImported = 1_000

const WantedImport = Schema.Struct({
  integrations: Schema.Array(Schema.Unknown).check(
    Schema.isMaxLength(maxImported, { message: `must be a list of at most ${maxImported} integrations` })
  ),
  check_only: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(false)))
})

const WantedLink = Schema.Struct({
  expires_in: DurationText.DurationText.check(
    Schema.isBetween({ minimum: 1_000, maximum: longestLinkLifetime }, { message: "must be from 1s to 24h" })
  ).pipe(Schema.withDecodingDefaultTypeKey(Effect.succeed(defaultLinkLifetime)))
})

export const makeIntegrationHandlers = Effect.gen(function* () {
  const integrations = yield* OperatorIntegrations
  const host = yield* HostIntegrations
  const tests = yield* TestEvents
  const dispatcher = yield* Dispatcher
  const types = yield* ResourceTypes
  const links = yield* PortalLinks
  const secret = yield* PageSecret

  /** Makes the document of an integration, including whether this process sends the integration's retries early. */
  const describe = (found: IntegrationWithHealth) =>
    Effect.map(dispatcher.status, ({ catching_up }) => documentOf(found, catching_up))

  return [
    handler(integrationOperations.list, ({ query }) =>
      Effect.gen(function* () {
        const filter = yield* all({
          status: readChoice(query, "status", statusFilters),
          search: readSearch(query),
          after: readAfter(query, parseIntegrationId),
          limit: readLimit(query)
        })
        const { after, search, status } = filter
        const { items, next } = yield* pageOf(filter.limit, (limit) =>
          integrations.list({ ...search, after: after ?? 0, limit, ...(status !== null && { status }) })
        )
        const { catching_up } = yield* dispatcher.status
        return {
          integrations: items.flatMap((item) => (isUnreadable(item) ? [] : [documentOf(item, catching_up)])),
          unreadable: items.filter(isUnreadable).map(unreadableOf),
          next: next === null ? null : String(isUnreadable(next) ? next.id : next.integration.id)
        }
      })
    ),
    handler(integrationOperations.create, (input) =>
      Effect.gen(function* () {
        const integration = yield* host.createValue(yield* readBody(input))
        const signing_secret = Redacted.value(integration.signing_secret)
        return { ...(yield* describe({ integration, failing: null })), signing_secret }
      })
    ),
    handler(integrationOperations.import, (input) =>
      Effect.gen(function* () {
        const wanted = yield* decodeDocument(WantedImport, "Invalid import", yield* readBody(input), "error")
        const done = yield* host.importAll(wanted.integrations, { checkOnly: wanted.check_only })
        return {
          problems: done.problems.map(({ at, detail, pointer }) => ({ at, pointer, detail })),
          integrations: done.integrations.map(({ at, created, integration }) => ({
            at,
            id: String(integration.id),
            created,
            signing_secret: created ? Redacted.value(integration.signing_secret) : null
          }))
        }
      })
    ),
    handler(integrationOperations.show, ({ params }) =>
      Effect.gen(function* () {
        return yield* describe(yield* integrations.show(yield* integrationIdIn(params)))
      })
    ),
    handler(integrationOperations.set, (input) =>
      Effect.gen(function* () {
        const id = yield* integrationIdIn(input.params)
        const switches = yield* Effect.fromResult(readSwitches(yield* readBody(input), types))
        return yield* describe(yield* integrations.set(id, switches))
      })
    ),
    handler(integrationOperations.probe, ({ params }) =>
      Effect.gen(function* () {
        const id = yield* integrationIdIn(params)
        return { id: String(id), delivery_id: formatDeliveryId(yield* integrations.probe(id)) }
      })
    ),
    handler(integrationOperations.sendTestEvent, ({ params }) =>
      Effect.gen(function* () {
        const { delivery_id, event_id, resource_type } = yield* tests.send(yield* integrationIdIn(params))
        return { delivery_id: formatDeliveryId(delivery_id), event_id, resource_type }
      })
    ),
    handler(integrationOperations.createPortalLink, (input) =>
      Effect.gen(function* () {
        const id = yield* integrationIdIn(input.params)
        const { expires_in } = yield* decodeDocument(WantedLink, "Invalid link", yield* readOptionalBody(input))
        return yield* links.create(id, expires_in)
      })
    ),
    handler(integrationOperations.rotatePortalSecret, () => Effect.as(secret.rotate, null))
  ]
})
