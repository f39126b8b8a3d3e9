/**
 * A third party that is registered over the operator API, and a person who lets it in: by doorhook's form, or, logged in at the
 * host, by its consent page.
 */
import { Effect } from "effect"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { callApi } from "../harness/ThirdParty.ts"

const redirectUri = "https://client.example/cb"

const unescape = (html = ""): string =>
  html.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&amp;", "&")

const memberOf = (value: unknown, name: string): string => {
  const member: unknown = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
  return typeof member === "string" ? member : ""
}

/** Submits the form of a page, with what it carries along and what is filled in. */
const submit = async (page: Response, fields: Readonly<Record<string, string>>, cookie: string): Promise<Response> => {
  const html = await page.text()
  const action = /<form[^>]*action="([^"]*)"/.exec(html)?.[1] ?? page.url
  const form = new URLSearchParams(fields)
  for (const [input] of html.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    form.set(unescape(/name="([^"]*)"/.exec(input)?.[1]), unescape(/value="([^"]*)"/.exec(input)?.[1]))
  }
  const cookies = [...page.headers.getSetCookie().map((set) => set.split(";")[0]), cookie].join("; ")
  return fetch(new URL(unescape(action), page.url), {
    method: "POST",
    redirect: "manual",
    headers: { cookie: cookies },
    body: form
  })
}

/** The host's own session of a person who logs in at `/login` there. */
export const hostSession = (url: string, login: string, password: string): Promise<string> =>
  fetch(`${url}/login`, {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams({ login, password })
  }).then((answer) => answer.headers.getSetCookie()[0]?.split(";")[0] ?? "")

/** Registers a client and takes a token for the person. Each of its calls answers the text of what came. */
export const letIn = (url: string, fields: Readonly<Record<string, string>>, cookie = "", key = operatorKey) =>
  Effect.promise(async () => {
    const body = { name: "Acme", redirect_uris: [redirectUri] }
    const added: unknown = await (await callApi(url, key, "POST", "/operator/clients", body)).json()
    const client: unknown = typeof added === "object" && added !== null ? Reflect.get(added, "client") : null
    const client_id = memberOf(client, "id")
    const query = new URLSearchParams({ response_type: "code", client_id, redirect_uri: redirectUri })
    const page = await fetch(`${url}/oauth/authorize?${query.toString()}`, { headers: { cookie }, redirect: "manual" })
    if (page.status !== 200) return { token: "", page }
    const answer = await submit(page, { ...fields, decision: "allow" }, cookie)
    const code = new URL(answer.headers.get("location") ?? "http://none").searchParams.get("code") ?? ""
    const exchange = new URLSearchParams({
      grant_type: "authorization_code",
      code,
      client_id,
      client_secret: memberOf(added, "client_secret"),
      redirect_uri: redirectUri
    })
    const token: unknown = await (await fetch(`${url}/oauth/token`, { method: "POST", body: exchange })).json()
    return { token: memberOf(token, "access_token"), page }
  })
