/**
 * What a host gives to those whose integration it is: a link to its page, and a test of its receiver.
 */
import { PortalLink } from "@doorhook/server"
import { Schema } from "effect"
import { idInPath, optionsOf } from "./Arguments.ts"
import type { OperatorCalls } from "./OperatorCalls.ts"

export interface PortalLinkOptions {
  /** How long the link, and the page that it opens, are good: `1s` to `24h`; default `15m`. */
  readonly expiresIn?: string | undefined
}

const TestSent = Schema.Struct({
  /** To be looked up with `deliveries.show`. */
  delivery_id: Schema.String,
  event_id: Schema.String,
  /** Of the made-up event: one that the integration is bound to. */
  resource_type: Schema.String
})

/** A test event that is on its way. */
export type TestSent = typeof TestSent.Type

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

const pathOf = (id: string | number): string =>
  `/operator/integrations/${idInPath(id, 'the id of an integration, like "12"')}`

export const makePortalClient = ({ done, read }: OperatorCalls): PortalClient => ({
  portalLink: async (id, options) => {
    const { expiresIn = null } = optionsOf(options, ["expiresIn"])
    return read(PortalLink, "POST", `${pathOf(id)}/portal_links`, expiresIn === null ? {} : { expires_in: expiresIn })
  },
  sendTestEvent: async (id) => read(TestSent, "POST", `${pathOf(id)}/test_event`),
  rotatePortalSecret: () => done("POST", "/operator/portal/rotate_secret")
})
