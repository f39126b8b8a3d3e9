/**
 * A third party that is registered through the operator API, and a user who grants it access: in doorhook's login form,
 * or on the consent page when logged in at the host.
 */
import { Effect } from "effect"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { authorizeUrl, codeIn, exchange } from "../harness/CodeGrant.ts"
import { submit } from "../harness/LoginForm.ts"
import { callApi } from "../harness/ThirdParty.ts"

const redirect_uri = "https://client.example/cb"

const memberOf = (value: unknown, name: string): string => {
  const member: unknown = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
  return typeof member === "string" ? member : ""
}

/** Logs a user in at the host's `/login`, and returns the session cookie. */
export const hostSession = (url: string, login: string, password: string): Promise<string> =>
  fetch(`${url}/login`, {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams({ login, password })
  }).then((answer) => answer.headers.getSetCookie()[0]?.split(";")[0] ?? "")

/** Registers a client and gets a token for the user. Also returns the authorize page. */
export const letIn = (url: string, fields: Readonly<Record<string, string>>, cookie = "", key = operatorKey) =>
  Effect.promise(async () => {
    const body = { name: "Acme", redirect_uris: [redirect_uri] }
    const added: unknown = await (await callApi(url, key, "POST", "/operator/clients", body)).json()
    const client: unknown = typeof added === "object" && added !== null ? Reflect.get(added, "client") : null
    const client_id = memberOf(client, "id")
    const own = { client_id, client_secret: memberOf(added, "client_secret"), redirect_uri }
    const page = await fetch(authorizeUrl(url, own), { headers: { cookie }, redirect: "manual" })
    if (page.status !== 200) return { token: "", page }
    const code = codeIn(await submit(page, { ...fields, decision: "allow" }, cookie))
    const token: unknown = await (await exchange(url, own, code)).json()
    return { token: memberOf(token, "access_token"), page }
  })
