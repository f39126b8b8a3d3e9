/**
 * A browser without JavaScript. It keeps cookies, reads pages and submits their forms.
 */
import { unescapeHtml } from "@doorhook/testkit/HtmlForm"
import { Effect } from "effect"
import { call, operatorKey } from "../TestServer.ts"
import type { Reply } from "../TestServer.ts"

/** The value of a field on a page; empty if there is none. */
export const valueIn = (page: Reply, name: string): string =>
  unescapeHtml(new RegExp(`name="${name}" value="([^"]*)"`).exec(page.text)?.[1] ?? "")

/** The form token of a page. */
export const tokenIn = (page: Reply): string => valueIn(page, "csrf_token")

/** The text of a page's alert; empty if there is none. */
export const alertIn = ({ text }: Reply): string =>
  unescapeHtml((/<p class="alert" role="alert"[^>]*>(.*?)<\/p>/s.exec(text)?.[1] ?? "").replaceAll(/<[^>]*>/g, ""))

type Fields = Readonly<Record<string, string | ReadonlyArray<string>>>

const encoded = (fields: Fields): string =>
  new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]): Array<[string, string]> =>
      typeof value === "string" ? [[name, value]] : value.map((each) => [name, each])
    )
  ).toString()

export class Browser {
  /** Cookies by name. Their paths are ignored. */
  readonly cookies = new Map<string, string>()

  request(method: string, path: string, body?: string, headers: Readonly<Record<string, string>> = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const type: Readonly<Record<string, string>> =
      body === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }
    return call(method, path, { headers: { cookie, ...type, ...headers }, ...(body !== undefined && { body }) }).pipe(
      Effect.tap((reply) => Effect.sync(() => this.#keep(reply)))
    )
  }

  #keep({ headers }: Reply) {
    for (const line of headers.getSetCookie()) {
      const [pair = ""] = line.split(";")
      const at = pair.indexOf("=")
      if (/; Max-Age=0/.test(line)) this.cookies.delete(pair.slice(0, at))
      else this.cookies.set(pair.slice(0, at), pair.slice(at + 1))
    }
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}) {
    return this.request("GET", path, undefined, headers)
  }

  /** Submits a form with the token of a page, as if the page contained that form. */
  post(page: Reply, path: string, fields: Fields = {}, headers: Readonly<Record<string, string>> = {}) {
    return this.request("POST", path, encoded({ csrf_token: tokenIn(page), ...fields }), headers)
  }

  /** Follows the redirect of an answer. */
  follow(reply: Reply) {
    return this.get(reply.headers.get("location") ?? "/nowhere")
  }
}

/** A browser with a signed-in operator, and the first page. */
export const operatorSignedIn = Effect.gen(function* () {
  const browser = new Browser()
  const form = yield* browser.get("/console")
  yield* browser.post(form, "/console/sign-in", { key: operatorKey })
  return { browser, page: yield* browser.get("/console") }
})

/** A browser with a signed-in owner, and the first page. */
export const ownerSignedIn = Effect.fnUntraced(function* (user: string) {
  const browser = new Browser()
  const form = yield* browser.get("/portal")
  yield* browser.post(form, "/portal/sign-in", { login: user, password: `password of ${user}` })
  return { browser, page: yield* browser.get("/portal") }
})
