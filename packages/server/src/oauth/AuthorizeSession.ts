/**
 * The browser in the authorize step: addresses that return to the step, and the user who is logged in at the host.
 */
import type { AuthorizationServer, Parameters } from "@doorhook/core"
import { authorizeParameters, RedirectUri } from "@doorhook/core"
import type { Exchange } from "../http/Exchange.ts"
import { askHost } from "../ui/Session.ts"
import { paths } from "./Metadata.ts"

/** The parameters that a page or a clean address carries on: all that have a meaning, without the secret. */
export const repeatable = ({ values }: Parameters.Parameters): ReadonlyArray<readonly [string, string]> =>
  authorizeParameters.flatMap((name) => {
    const value = values.get(name)
    return value === undefined || name === "client_secret" ? [] : [[name, value]]
  })

/** The public address that opens this step again. */
export const cleanUrl = (publicUrl: string, parameters: Parameters.Parameters): string =>
  RedirectUri.withParameters(`${publicUrl}${paths.authorize}`, Object.fromEntries(repeatable(parameters)))

/** Calls the host to find out who its visitor is. */
export const findVisitor = (
  authorization: AuthorizationServer["Service"],
  publicUrl: string,
  x: Exchange,
  parameters: Parameters.Parameters
) => askHost(authorization, publicUrl, x, cleanUrl(publicUrl, parameters))
