/**
 * The client of the operator API, for embedding hosts and for the command line: deliveries, integrations, OAuth clients, grants,
 * notifications and portal links.
 */
import type { DeliveryState } from "@doorhook/core"
import type {
  AttemptDocument,
  ClientDocument,
  ClientWithSecretDocument,
  CreatedIntegrationDocument,
  DeliveryCountsDocument,
  DeliveryDetailDocument,
  DeliveryDocument,
  DeliveryPageDocument,
  EventExplanationDocument,
  GrantDocument,
  ImportDocument,
  NotificationDocument,
  NotificationPageDocument,
  OperatorIntegrationDocument,
  OperatorIntegrationPageDocument,
  PortalLink,
  TestSentDocument
} from "@doorhook/server"
import {
  clientOperations,
  deliveryOperations,
  eventOperations,
  grantOperations,
  integrationOperations,
  notificationOperations
} from "@doorhook/server"
import type { HostKeySet } from "../directory/FunctionDirectory.ts"
import { Predicate } from "effect"
import { badArgument, bodyOf, idIn, idInPath, optionsOf, queryOf } from "./Arguments.ts"
import type { OperatorCalls } from "./OperatorCalls.ts"

/** A delivery in a list. Times are ISO 8601 UTC. */
export type DeliverySummary = DeliveryDocument

/** One attempt to deliver an event to a receiver. */
export type DeliveryAttempt = AttemptDocument

/** A delivery with all its attempts. */
export type DeliveryDetail = DeliveryDetailDocument

/** A page of deliveries. */
export type DeliveryPage = DeliveryPageDocument

/** The number of stored events, and of deliveries by state. */
export type DeliveryCounts = DeliveryCountsDocument

/** A state, or any other string. The type makes editors suggest the states. */
type ListedState = DeliveryState | (string & Record<never, never>)

/** Searches for integrations. All given criteria must match. */
export interface IntegrationSearchOptions {
  /** The `client_id` of the client that created the integration. */
  readonly client_id?: string | undefined
  /** The host of the integration's URL, like `hooks.example.com`, or with a port like `hooks.example.com:8443`. */
  readonly host?: string | undefined
  /** Part of the integration's name, in any case. */
  readonly name?: string | undefined
}

/**
 * Options for a list of deliveries. With a search, only deliveries of the integrations that match it, at most 100
 * integrations.
 */
export interface DeliveryListOptions extends IntegrationSearchOptions {
  /** Only deliveries in this state, or in these states: a list, or one string with commas. Default: all states. */
  readonly state?: ListedState | ReadonlyArray<ListedState> | undefined
  /** Only deliveries to this integration. */
  readonly integration_id?: string | number | undefined
  /** Only deliveries of this event. */
  readonly event_id?: string | undefined
  /** Whether the oldest or the newest item is first. Default `oldest`. */
  readonly order?: "oldest" | "newest" | undefined
  /** The `next` of the previous page. Null is refused here, because a null `next` means the end of the list. */
  readonly after?: string | null | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

/** Options for the explanation of an event. */
export interface ExplainOptions {
  /** Explains only this integration. It may belong to another building. */
  readonly integration_id?: string | number | undefined
}

/** Why integrations did or did not get an event. */
export type EventExplanation = EventExplanationDocument

/** A time: a `Date`, or ISO 8601. */
type Since = Date | string

/** An object with a time, as in the operator API. */
interface SinceOptions {
  /** The time. */
  readonly since: Since
}

/**
 * A failed call rejects with a `DoorhookError`: `not_found` for an unknown id, `invalid_parameter` for a wrong option,
 * `bad_request` for a malformed id or time.
 */
export interface DeliveriesClient {
  /** Returns a page of deliveries, oldest first by default. */
  readonly list: (options?: DeliveryListOptions) => Promise<DeliveryPage>
  /** Returns one delivery with all its attempts. */
  readonly show: (id: string) => Promise<DeliveryDetail>
  /**
   * Sends a delivery again now, as its next attempt. Rejects with `integration_disabled` or `integration_deleted` if
   * the integration gets no deliveries.
   */
  readonly resend: (id: string) => Promise<void>
  /**
   * Resends an integration's unacknowledged deliveries of events published at `since` or later, whether the deliveries
   * have ended or are waiting for a retry. Returns the number of deliveries. Rejects like `resend`.
   */
  readonly recover: (
    integrationId: string | number,
    since: Since | SinceOptions
  ) => Promise<{ readonly deliveries: number }>
  /**
   * Explains which integrations got an event, and why others did not: for one integration, or for all of the event's
   * building and tenants.
   */
  readonly explain: (eventId: string, options?: ExplainOptions) => Promise<EventExplanation>
  /** Returns the number of stored events, and of deliveries in each state. */
  readonly summary: () => Promise<DeliveryCounts>
}

/** An integration as the operator sees it. Times are ISO 8601 UTC. */
export type IntegrationSummary = OperatorIntegrationDocument

/** A page of integrations. */
export type IntegrationPage = OperatorIntegrationPageDocument

/** Options for a list of integrations. */
export interface IntegrationListOptions extends IntegrationSearchOptions {
  /** Only integrations with this status. `unhealthy` means failing, or disabled by doorhook. */
  readonly status?: "enabled" | "disabled" | "unhealthy" | undefined
  /** The `next` of the previous page. Null is refused here, because a null `next` means the end of the list. */
  readonly after?: string | null | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

/** An id of a building or tenant, a positive whole number. */
type ScopeId = number | string

/** Events of a resource type that an integration gets. */
export interface IntegrationBinding {
  /** The resource type, like `call`. */
  readonly resource_type: string
  /** Actions of the type, like `["create"]`. */
  readonly actions: ReadonlyArray<string>
}

/** An integration to create for a user. */
export type IntegrationToCreate = {
  /** The user, as the directory's `authenticate` or `session` returns it. The user must have a right to the scope. */
  readonly user: string
  /** The `client_id` of the client that the integration belongs to. Default: none. */
  readonly client?: string | null | undefined
  /** The receiver. The address rules of the service apply. */
  readonly url: string
  /** The events that the integration gets. */
  readonly bindings: ReadonlyArray<IntegrationBinding>
  /** At most 80 characters. */
  readonly name?: string | null | undefined
  /** At most 500 characters. */
  readonly description?: string | null | undefined
  /** The data that the receiver gets. Default: the most that the client may get (`maxDetail`). */
  readonly detail?: "full" | "redacted" | "thin" | undefined
  /** Default `enabled`. */
  readonly status?: "enabled" | "disabled" | undefined
  /** The signing secret: `whsec_` and base64 of 24 bytes or more. Default: generated. */
  readonly secret?: string | undefined
} & (
  | {
      /** The building whose events the integration gets. */
      readonly building: ScopeId
      /** Left out for the integration of a building. */
      readonly tenant?: undefined
    }
  | {
      /** The tenant whose events the integration gets. */
      readonly tenant: ScopeId
      /** Left out for the integration of a tenant. */
      readonly building?: undefined
    }
)

/** A created integration with its signing secret, which no other call returns. */
export type IntegrationCreated = CreatedIntegrationDocument

/** Options for an import. */
export interface IntegrationImportOptions {
  /** Only checks the list, and creates nothing. Default false. */
  readonly checkOnly?: boolean | undefined
}

/** The result of an import: the created and the existing integrations, and the problems. */
export type IntegrationImport = ImportDocument

/** Changes to an integration. Members that are left out stay as they are. */
export interface IntegrationChange {
  /** Whether the integration gets deliveries. */
  readonly status?: "enabled" | "disabled"
  /** The data that the receiver gets: all, without personal members, or only an id and a link. */
  readonly detail?: "full" | "redacted" | "thin"
  /** Settings for this integration only. They replace all earlier overrides: `{}` removes them. */
  readonly overrides?: {
    /** Statuses that acknowledge: only 200, or any 2xx. */
    readonly acknowledge?: "200" | "2xx"
    /** Delays between attempts by resource type, like `{ access_log: ["5s", "30s"] }`; an empty list means no retry. */
    readonly retry?: Readonly<Record<string, ReadonlyArray<string>>>
    /** Special-purpose networks that only this integration may use, like `10.0.0.0/8`, in addition to `allowTargets`. */
    readonly allow_targets?: ReadonlyArray<string>
    /**
     * Additional request headers, with names in lower case. The API never returns their values and shows `(hidden)`
     * instead. Sending `(hidden)` keeps a value.
     */
    readonly headers?: Readonly<Record<string, string>>
    /** Maximum number of requests started per second, 0.01 to 1,000. */
    readonly requests_per_second?: number
  }
}

/**
 * A failed call rejects with a `DoorhookError`: `not_found` for an unknown id, `invalid` for an impossible change,
 * `bad_request` for a malformed id or change.
 */
export interface IntegrationsClient {
  /** Returns a page of integrations, ordered by id. */
  readonly list: (options?: IntegrationListOptions) => Promise<IntegrationPage>
  /** Returns one integration. */
  readonly show: (id: string | number) => Promise<IntegrationSummary>
  /**
   * Creates an integration for a user who has the right to its building or tenant, without a login or a token. Rejects
   * with `invalid`, or with `limit_reached` if the scope has as many integrations as `integrationsPerScope` allows.
   */
  readonly create: (integration: IntegrationToCreate) => Promise<IntegrationCreated>
  /**
   * Creates the integrations of a list of at most 1,000, or none if one is invalid. An integration of the same building
   * or tenant with the same client and URL counts as created earlier and stays as it is, so an import can be repeated.
   */
  readonly import: (
    integrations: ReadonlyArray<unknown>,
    options?: IntegrationImportOptions
  ) => Promise<IntegrationImport>
  /** Changes status and overrides, and returns the changed integration. */
  readonly set: (id: string | number, change: IntegrationChange) => Promise<IntegrationSummary>
  /**
   * Sends the newest unacknowledged delivery of an integration that doorhook disabled, and returns the delivery's id. An
   * acknowledgement enables the integration. Rejects with `not_disabled` or `nothing_to_send` if a probe is not possible.
   */
  readonly probe: (id: string | number) => Promise<{ readonly delivery_id: string }>
}

/** A client, without its secrets. Times are ISO 8601 UTC. */
export type ClientSummary = ClientDocument

/** A client with its new secret, which no other call returns. The secret of a public client is null. */
export type ClientAdded = ClientWithSecretDocument

/** A client to register. */
export interface ClientToAdd {
  /** The `client_id`. Default: generated. */
  readonly id?: string | undefined
  /** The name that users see when they log in. */
  readonly name: string
  /** At least one redirect URI, unless the client has keys. With `urn:ietf:wg:oauth:2.0:oob`, codes are shown on a page. */
  readonly redirect_uris: ReadonlyArray<string>
  /** Whether the client gets a secret. A client without a secret must use PKCE. Default true. */
  readonly confidential?: boolean | undefined
  /** The public keys of a client that authenticates with `private_key_jwt` (RFC 7523). Such a client gets no secret. */
  readonly jwks?: HostKeySet | undefined
}

/** Options for a new secret. */
export interface ClientRotateOptions {
  /** How long the old secrets stay valid. Default `24h`. */
  readonly overlap?: string | undefined
}

/**
 * A failed call rejects with a `DoorhookError`: `client_exists`, `invalid`, `not_found`, `client_is_public` (a public
 * client can't get a secret), or `bad_request` (malformed id or client).
 */
export interface ClientsClient {
  /** Returns all registered clients. */
  readonly list: () => Promise<ReadonlyArray<ClientSummary>>
  /** Registers a client. Only this call returns its secret. */
  readonly add: (client: ClientToAdd) => Promise<ClientAdded>
  /** Gives a client a new secret. */
  readonly rotate: (id: string, options?: ClientRotateOptions) => Promise<ClientAdded>
  /** Deletes a client, and all grants to the client. */
  readonly remove: (id: string) => Promise<void>
}

/** Access that a user granted to a client by logging in. `created_at` is ISO 8601 UTC. */
export type GrantSummary = GrantDocument

/** Options for revoking grants. */
export interface GrantRevokeOptions {
  /**
   * The `client_id` of one client. Leave it out for all clients. Undefined and null are refused, because they might be
   * the result of a mistake.
   */
  readonly client?: string
}

/** A failed call rejects with a `DoorhookError`: `bad_request` for a malformed id. */
export interface GrantsClient {
  /**
   * Returns a user's active grants, oldest first, at most 1,000. `userId` is the id that the directory's `authenticate` or
   * `session` returns.
   */
  readonly list: (userId: string) => Promise<ReadonlyArray<GrantSummary>>
  /**
   * Revokes a user's grants to all clients or to one client, and returns their number. The tokens of these grants are
   * refused from the next request on. Call this after a password change, once your own sessions for the user have
   * ended.
   */
  readonly revoke: (userId: string, options?: GrantRevokeOptions) => Promise<number>
}

/** A notification. Times are ISO 8601 UTC. */
export type DoorhookNotification = NotificationDocument

/** A page of notifications. */
export type NotificationPage = NotificationPageDocument

/** Options for a list of notifications. */
export interface NotificationListOptions {
  /** Only notifications about this integration. */
  readonly integration_id?: string | number | undefined
  /** Whether the oldest or the newest item is first. Default `oldest`. */
  readonly order?: "oldest" | "newest" | undefined
  /**
   * The `next` of the previous page, or the id of a notification in the same order. Null is refused here, because a null
   * `next` means the end of the list.
   */
  readonly after?: string | null | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

/** A failed call rejects with a `DoorhookError`: `invalid_parameter` for a wrong option. */
export interface NotificationsClient {
  /** Returns a page of notifications, oldest first by default. */
  readonly list: (options?: NotificationListOptions) => Promise<NotificationPage>
}

/** Options for a portal link. */
export interface PortalLinkOptions {
  /** How long the link and its page are valid: `1s` to `24h`. Default `15m`. */
  readonly expiresIn?: string | undefined
}

/** A queued test event. */
export type TestSent = TestSentDocument

/**
 * Calls that serve the owner of an integration. A failed call rejects with a `DoorhookError`: `not_found` for an
 * unknown id.
 */
export interface PortalClient {
  /**
   * Makes a link to an integration's page. The host must give it only to the owner. `expires_at` is ISO 8601 UTC.
   */
  readonly portalLink: (integrationId: string | number, options?: PortalLinkOptions) => Promise<PortalLink>
  /** Sends a sample event, marked `"test": true`, to one integration only. */
  readonly sendTestEvent: (integrationId: string | number) => Promise<TestSent>
  /**
   * Replaces the secret that signs portal links. All links, pages opened with them, and open login and consent forms
   * stop working: immediately in this process, and within two seconds in other processes over the same database.
   */
  readonly rotatePortalSecret: () => Promise<void>
}

/** The calls of the operator API, in this process or over HTTP. */
export interface OperatorClient extends PortalClient {
  /** Calls that list, explain and resend deliveries. */
  readonly deliveries: DeliveriesClient
  /** Calls that list and create integrations, and change their status and overrides. */
  readonly integrations: IntegrationsClient
  /** Calls for registered OAuth clients. Clients in the directory are not included. */
  readonly clients: ClientsClient
  /** Calls for users' grants to clients. Revoke grants after a password change or the loss of a phone. */
  readonly grants: GrantsClient
  /** Calls that list the notifications that `onNotification` gets. */
  readonly notifications: NotificationsClient
}

const deliveryIn = (id: string): string => idInPath(id, 'the id of a delivery, like "dlv_42"')
const integrationIn = (id: string | number): string => idInPath(id, 'the id of an integration, like "12"')
const clientIn = (id: string): string => idInPath(id, "the id of a client")
const userIn = (id: string): string => idIn("userId", id, "the id of a user, as your directory returns it")

const exampleIntegration =
  '{ user: "ann", building: 1, url: "https://receiver.example/hook", bindings: [{ resource_type: "call", actions: ["create"] }] }'
const exampleClient = '{ name: "Acme", redirect_uris: ["https://client.example/callback"] }'

/** Returns a time in ISO 8601, given a time or an object with the member `since`. */
const timeIn = (given: unknown): string => {
  const since: unknown = Predicate.isObject(given) && !Predicate.isDate(given) ? given["since"] : given
  if (Predicate.isString(since)) return since
  if (Predicate.isDate(since) && !Number.isNaN(since.getTime())) return since.toISOString()
  throw badArgument("since", 'a Date, or a time in ISO 8601 like "2026-03-02T00:00:00Z"', since)
}

/**
 * Reads the client whose grants to revoke; `{}` for all clients. An id that is missing by mistake must not revoke all
 * grants.
 */
const clientOf = (options: GrantRevokeOptions | undefined): { readonly client_id?: string } => {
  const given = optionsOf(options, ["client"])
  if (!("client" in given)) return {}
  const orAll = Predicate.isNotNullish(given.client) ? "" : ", or left out for all clients"
  return { client_id: idIn("client", given.client, `the id of a client${orAll}`) }
}

export const makeOperatorClient = (call: OperatorCalls): OperatorClient => ({
  deliveries: {
    list: async (options) => call(deliveryOperations.list, { query: queryOf(options) }),
    show: async (id) => call(deliveryOperations.show, { id: deliveryIn(id) }),
    resend: async (id) => {
      await call(deliveryOperations.resend, { id: deliveryIn(id) })
    },
    recover: async (integrationId, since) =>
      call(deliveryOperations.recover, { id: integrationIn(integrationId), body: { since: timeIn(since) } }),
    explain: async (eventId, options) =>
      call(eventOperations.explain, {
        id: idInPath(eventId, 'the id of an event, like "evt_..."'),
        query: queryOf(optionsOf(options, ["integration_id"]))
      }),
    summary: async () => call(deliveryOperations.summary)
  },
  integrations: {
    list: async (options) => call(integrationOperations.list, { query: queryOf(options) }),
    show: async (id) => call(integrationOperations.show, { id: integrationIn(id) }),
    create: async (integration) =>
      call(integrationOperations.create, { body: bodyOf("integration", integration, exampleIntegration) }),
    import: async (integrations, options) => {
      if (!Array.isArray(integrations)) throw badArgument("integrations", "a list", integrations)
      const { checkOnly: check_only = false } = optionsOf(options, ["checkOnly"])
      return call(integrationOperations.import, { body: { integrations, check_only } })
    },
    set: async (id, change) =>
      call(integrationOperations.set, {
        id: integrationIn(id),
        body: bodyOf("change", change, '{ status: "enabled" }')
      }),
    probe: async (id) => {
      const { delivery_id } = await call(integrationOperations.probe, { id: integrationIn(id) })
      return { delivery_id }
    }
  },
  clients: {
    list: async () => (await call(clientOperations.list)).clients,
    add: async (client) => call(clientOperations.add, { body: bodyOf("client", client, exampleClient) }),
    rotate: async (id, options) => {
      const { overlap } = optionsOf(options, ["overlap"])
      const body = overlap === undefined || overlap === null ? {} : { overlap }
      return call(clientOperations.rotate, { id: clientIn(id), body })
    },
    remove: async (id) => {
      await call(clientOperations.remove, { id: clientIn(id) })
    }
  },
  grants: {
    list: async (userId) => (await call(grantOperations.list, { query: queryOf({ user_id: userIn(userId) }) })).grants,
    revoke: async (userId, options) => {
      const only = clientOf(options)
      return (await call(grantOperations.revoke, { body: { user_id: userIn(userId), ...only } })).grants
    }
  },
  notifications: {
    list: async (options) => call(notificationOperations.list, { query: queryOf(options) })
  },
  portalLink: async (integrationId, options) => {
    const { expiresIn = null } = optionsOf(options, ["expiresIn"])
    const body = expiresIn === null ? {} : { expires_in: expiresIn }
    return call(integrationOperations.createPortalLink, { id: integrationIn(integrationId), body })
  },
  sendTestEvent: async (integrationId) =>
    call(integrationOperations.sendTestEvent, { id: integrationIn(integrationId) }),
  rotatePortalSecret: async () => {
    await call(integrationOperations.rotatePortalSecret)
  }
})
