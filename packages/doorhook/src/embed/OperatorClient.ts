/**
 * The client of the operator API, for embedding hosts and for the command line: deliveries, integrations, OAuth clients, grants,
 * notifications and portal links.
 */
import type { DeliveryState } from "@doorhook/core"
import type {
  AttemptDocument,
  ClientDocument,
  ClientWithSecretDocument,
  DeliveryCountsDocument,
  DeliveryDetailDocument,
  DeliveryDocument,
  DeliveryPageDocument,
  GrantDocument,
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
  grantOperations,
  integrationOperations,
  notificationOperations
} from "@doorhook/server"
import { Predicate } from "effect"
import { badArgument, bodyOf, idIn, idInPath, optionsOf, queryOf } from "./Arguments.ts"
import type { OperatorCalls } from "./OperatorCalls.ts"

/** A delivery in a list. Times are ISO 8601 UTC. */
export type DeliverySummary = DeliveryDocument

/** One request to a receiver. */
export type DeliveryAttempt = AttemptDocument

/** A delivery with all its attempts. */
export type DeliveryDetail = DeliveryDetailDocument

/** A page of deliveries. */
export type DeliveryPage = DeliveryPageDocument

/** What is stored, in numbers. */
export type DeliveryCounts = DeliveryCountsDocument

/** A state, or any string: editors complete the states. */
type ListedState = DeliveryState | (string & Record<never, never>)

/** Which deliveries to list. */
export interface DeliveryListOptions {
  /** Only those in this state; several as a list, or as one string with commas. Default: all states. */
  readonly state?: ListedState | ReadonlyArray<ListedState> | undefined
  /** Only those of this integration. */
  readonly integration_id?: string | number | undefined
  /** Only those of this event. */
  readonly event_id?: string | undefined
  /** Which comes first; default `oldest`. */
  readonly order?: "oldest" | "newest" | undefined
  /** The `next` of an earlier answer. Its null says that the list has ended: given here, it is refused. */
  readonly after?: string | null | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

/** A time: a `Date`, or ISO 8601. */
type Since = Date | string

/** The time as a member, as the operator API has it. */
interface SinceOptions {
  /** The time. */
  readonly since: Since
}

/** Each call rejects with a `DoorhookError`: `not_found` for an unknown id, `invalid_parameter` for a wrong option, `bad_request` for what is no id or no time at all. */
export interface DeliveriesClient {
  /** A page of deliveries, the oldest first unless `order` says otherwise. */
  readonly list: (options?: DeliveryListOptions) => Promise<DeliveryPage>
  /** One delivery with all its attempts. */
  readonly show: (id: string) => Promise<DeliveryDetail>
  /**
   * Sends a delivery again at once, as its next attempt. Rejects with `integration_disabled` or `integration_deleted` when there is
   * nowhere to send it.
   */
  readonly resend: (id: string) => Promise<void>
  /**
   * Sends all deliveries that an integration has not acknowledged since a time, those that have ended and those that wait for a
   * retry, and returns their number. Rejects as `resend`.
   */
  readonly recover: (
    integrationId: string | number,
    since: Since | SinceOptions
  ) => Promise<{ readonly deliveries: number }>
  /** How many there are in each state. */
  readonly summary: () => Promise<DeliveryCounts>
}

/** An integration as the operator sees it. Times are ISO 8601 UTC. */
export type IntegrationSummary = OperatorIntegrationDocument

/** A page of integrations. */
export type IntegrationPage = OperatorIntegrationPageDocument

/** Which integrations to list. */
export interface IntegrationListOptions {
  /** Troubled are those that fail and those that doorhook disabled. */
  readonly status?: "enabled" | "disabled" | "unhealthy" | undefined
  /** The `next` of an earlier answer. Its null says that the list has ended: given here, it is refused. */
  readonly after?: string | null | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

/** What to set. What is left out stays. */
export interface IntegrationChange {
  /** Whether it gets deliveries. */
  readonly status?: "enabled" | "disabled"
  /** Where its deliveries differ from the others', in place of what was set before: `{}` takes everything back. */
  readonly overrides?: {
    /** Which statuses acknowledge: 200 alone, or any of 2xx. */
    readonly acknowledge?: "200" | "2xx"
    /** Delays between attempts by resource type, like `{ access_log: ["5s", "30s"] }`; an empty list is no retry. */
    readonly retry?: Readonly<Record<string, ReadonlyArray<string>>>
    /** Special-purpose networks that it may use beside those that all may, like `10.0.0.0/8`. */
    readonly allow_targets?: ReadonlyArray<string>
    /**
     * Headers of its requests beside those of all, by their names in lower case. Their values are not shown again: `(hidden)`
     * stands for each, and written back leaves it as it is.
     */
    readonly headers?: Readonly<Record<string, string>>
    /** The most requests that are started in a second, 0.01 to 1,000. */
    readonly requests_per_second?: number
  }
}

/** Each call rejects with a `DoorhookError`: `not_found` for an unknown id, `invalid` for a change that can't be made, `bad_request` for what is no id or no change at all. */
export interface IntegrationsClient {
  /** A page of integrations, by id. */
  readonly list: (options?: IntegrationListOptions) => Promise<IntegrationPage>
  /** One integration. */
  readonly show: (id: string | number) => Promise<IntegrationSummary>
  /** Changes status and overrides, and returns the integration as it is then. */
  readonly set: (id: string | number, change: IntegrationChange) => Promise<IntegrationSummary>
  /**
   * Sends the newest unacknowledged delivery of an integration that doorhook disabled, and returns which one that is.
   * Acknowledged, it enables the integration. Rejects with `not_disabled` or `nothing_to_send` when there is nothing to probe.
   */
  readonly probe: (id: string | number) => Promise<{ readonly delivery_id: string }>
}

/** A client, without its secrets. Times are ISO 8601 UTC. */
export type ClientSummary = ClientDocument

/** A client with the secret that was just made for it, which is shown this once; null when the client is public. */
export type ClientAdded = ClientWithSecretDocument

/** What to register. */
export interface ClientToAdd {
  /** The `client_id`. Default: made up. */
  readonly id?: string | undefined
  /** What users are shown when they log in. */
  readonly name: string
  /** At least one; `urn:ietf:wg:oauth:2.0:oob` shows codes on a page. */
  readonly redirect_uris: ReadonlyArray<string>
  /** Whether it gets a secret; one without must use PKCE. Default true. */
  readonly confidential?: boolean | undefined
}

/** How a new secret replaces the old ones. */
export interface ClientRotateOptions {
  /** How long the old secrets stay valid, like `24h`, which is the default. */
  readonly overlap?: string | undefined
}

/** Calls reject with a `DoorhookError`: `client_exists`, `invalid`, `not_found`, `client_is_public` for a secret of one that has none, `bad_request` for what is no id or no client at all. */
export interface ClientsClient {
  /** All registered clients. */
  readonly list: () => Promise<ReadonlyArray<ClientSummary>>
  /** Registers a client; its secret is in this answer only. */
  readonly add: (client: ClientToAdd) => Promise<ClientAdded>
  /** Gives a client a new secret. */
  readonly rotate: (id: string, options?: ClientRotateOptions) => Promise<ClientAdded>
  /** Deletes a client, and ends everything that users have granted it. */
  readonly remove: (id: string) => Promise<void>
}

/** What a user has granted to a client by logging in for it. `created_at` is ISO 8601 UTC. */
export type GrantSummary = GrantDocument

/** What to end. */
export interface GrantRevokeOptions {
  /** The `client_id` of one client. Left out: all clients. Never undefined or null, which may be an id that is missing. */
  readonly client?: string
}

/** Calls reject with a `DoorhookError`: `bad_request` for what is no id at all. */
export interface GrantsClient {
  /** The grants of a user that still work, the oldest first, 1,000 at most. `userId` is what the directory's `authenticate` or `session` answers. */
  readonly list: (userId: string) => Promise<ReadonlyArray<GrantSummary>>
  /**
   * Ends what a user has granted, to all clients or to one, and returns the number of grants that it ended: their tokens are refused
   * from the next request on. Call it when a password has changed, after that and after sessions of your own were ended.
   */
  readonly revoke: (userId: string, options?: GrantRevokeOptions) => Promise<number>
}

/** A notification. Times are ISO 8601 UTC. */
export type DoorhookNotification = NotificationDocument

/** A page of notifications. */
export type NotificationPage = NotificationPageDocument

/** Which notifications to list. */
export interface NotificationListOptions {
  /** Only those of this integration. */
  readonly integration_id?: string | number | undefined
  /** Which comes first; default `oldest`. */
  readonly order?: "oldest" | "newest" | undefined
  /** Only notifications after this one in that order, like the `next` of an earlier answer. Its null says that the list has ended: given here, it is refused. */
  readonly after?: string | null | undefined
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined
}

/** Calls reject with a `DoorhookError`: `invalid_parameter` for a wrong option. */
export interface NotificationsClient {
  /** A page of notifications, the oldest first unless `order` says otherwise. */
  readonly list: (options?: NotificationListOptions) => Promise<NotificationPage>
}

/** How a portal link is made. */
export interface PortalLinkOptions {
  /** How long the link, and the page that it opens, are good: `1s` to `24h`; default `15m`. */
  readonly expiresIn?: string | undefined
}

/** A test event that is on its way. */
export type TestSent = TestSentDocument

/** Calls for the owner of an integration. Each rejects with a `DoorhookError`: `not_found` for an unknown id. */
export interface PortalClient {
  /** Makes a link to an integration's own page, for its owner, whom the host has to know. `expires_at` is ISO 8601 UTC. */
  readonly portalLink: (integrationId: string | number, options?: PortalLinkOptions) => Promise<PortalLink>
  /** Sends a made-up event, marked `"test": true`, to one integration and to no other. */
  readonly sendTestEvent: (integrationId: string | number) => Promise<TestSent>
  /**
   * Replaces the secret that signs portal links. All links, the pages that they opened, and login and consent forms that are
   * open now stop working: in this process at once, in others over the same database within two seconds.
   */
  readonly rotatePortalSecret: () => Promise<void>
}

/** The calls of the operator API, in the process or over HTTP. */
export interface OperatorClient extends PortalClient {
  /** Deliveries: why they were not made, and sending them again. */
  readonly deliveries: DeliveriesClient
  /** Integrations: which fail, and settings of their own. */
  readonly integrations: IntegrationsClient
  /** OAuth clients that are registered here, beside those that the directory knows. */
  readonly clients: ClientsClient
  /** What a user has granted to clients, and ending it: when a password changes, or a phone is lost. */
  readonly grants: GrantsClient
  /** The notifications that `onNotification` gets. */
  readonly notifications: NotificationsClient
}

const deliveryIn = (id: string): string => idInPath(id, 'the id of a delivery, like "dlv_42"')
const integrationIn = (id: string | number): string => idInPath(id, 'the id of an integration, like "12"')
const clientIn = (id: string): string => idInPath(id, "the id of a client")
const userIn = (id: string): string => idIn("userId", id, "the id of a user, as your directory answers it")

const exampleClient = '{ name: "Acme", redirect_uris: ["https://client.example/callback"] }'

/** The time in ISO 8601; given by itself or as a member, as the API has it. */
const timeIn = (given: unknown): string => {
  const since: unknown = Predicate.isObject(given) && !Predicate.isDate(given) ? given["since"] : given
  if (Predicate.isString(since)) return since
  if (Predicate.isDate(since) && !Number.isNaN(since.getTime())) return since.toISOString()
  throw badArgument("since", 'a Date, or a time in ISO 8601 like "2026-03-02T00:00:00Z"', since)
}

/** The client whose grants to end, as a member; none for all clients. An id that is missing by mistake must not end everything. */
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
    summary: async () => call(deliveryOperations.summary)
  },
  integrations: {
    list: async (options) => call(integrationOperations.list, { query: queryOf(options) }),
    show: async (id) => call(integrationOperations.show, { id: integrationIn(id) }),
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
