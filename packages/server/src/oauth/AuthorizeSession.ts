/**
 * The browser in the authorize step: the addresses that lead back to it, and who is logged in at the host.
 */
import type { AuthorizationServer, Parameters } from "@doorhook/core"
import { authorizeParameters, RedirectUri } from "@doorhook/core"
import type { Exchange } from "../http/Exchange.ts"
import { askHost } from "../ui/Session.ts"
import { paths } from "./Metadata.ts"

/** The parameters that a page or a clean address repeats: all that mean something, without the secret. */
export const repeatable = ({ values }: Parameters.Parameters): ReadonlyArray<readonly [string, string]> =>
  authorizeParameters.flatMap((name) => {
    const value = values.get(name)
    return value === undefined || name === "client_secret" ? [] : [[name, value]]
  })

/** The public address of this step, with the parameters that open it again. */
export const cleanUrl = (publicUrl: string, parameters: Parameters.Parameters): string =>
  RedirectUri.withParameters(`${publicUrl}${paths.authorize}`, Object.fromEntries(repeatable(parameters)))

/** Asks the host who its visitor is. */
export const findVisitor = (
  authorization: AuthorizationServer["Service"],
  publicUrl: string,
  x: Exchange,
  parameters: Parameters.Parameters
) => askHost(authorization, publicUrl, x, cleanUrl(publicUrl, parameters))
