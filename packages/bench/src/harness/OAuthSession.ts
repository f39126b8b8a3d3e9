/**
 * A client and its user: logs in through the form, exchanges codes and creates integrations.
 */
import type { ResourceType } from "@doorhook/core"
import { building, client, user } from "./ServerProcess.ts"

/** The response of the token endpoint. */
export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

const found = (pattern: RegExp, text: string): string => {
  const match = pattern.exec(text)?.[1]
  if (match === undefined) throw new Error(`${pattern.source} does not match ${text}`)
  return match
}

export class OAuthSession {
  readonly #base: string

  constructor(port: number) {
    this.#base = `http://127.0.0.1:${port}`
  }

  /** Logs the user in as a browser does. Returns a new code. */
  async logIn(): Promise<string> {
    const query = { client_id: client.id, redirect_uri: client.redirectUri, response_type: "code" }
    const shown = await fetch(`${this.#base}/oauth/authorize?${new URLSearchParams(query).toString()}`)
    const cookie = shown.headers.getSetCookie().map((line) => found(/^([^;]+)/, line))
    const csrf_token = found(/name="csrf_token" value="([^"]+)"/, await shown.text())
    const page = await fetch(`${this.#base}/oauth/authorize`, {
      method: "POST",
      headers: { cookie: cookie.join("; ") },
      body: new URLSearchParams({ ...query, csrf_token, ...user, decision: "allow" })
    })
    return found(/<code id="authorization_code">([^<]+)</, await page.text())
  }

  async exchange(code: string): Promise<Tokens> {
    const { id: client_id, redirectUri: redirect_uri, secret: client_secret } = client
    const fields = { grant_type: "authorization_code", code, client_id, client_secret, redirect_uri }
    const answer = await fetch(`${this.#base}/oauth/token`, { method: "POST", body: new URLSearchParams(fields) })
    if (!answer.ok) throw new Error(`the code was not exchanged: ${await answer.text()}`)
    const tokens: Tokens = JSON.parse(await answer.text())
    return tokens
  }

  /** Obtains grants, one after another. */
  async grants(count: number): Promise<ReadonlyArray<Tokens>> {
    const grants: Array<Tokens> = []
    while (grants.length < count) grants.push(await this.exchange(await this.logIn()))
    return grants
  }

  /** Creates an integration. Returns its path. */
  async createIntegration(
    accessToken: string,
    url = "http://127.0.0.1:9/hook",
    resource_type: ResourceType = "access_log"
  ): Promise<string> {
    const path = `/v4/buildings/${building}/integrations`
    const answer = await fetch(`${this.#base}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${accessToken}`, "content-type": "application/json" },
      body: JSON.stringify({
        data: {
          type: "integrations",
          attributes: {
            integrator: "webhook",
            configuration: { url, method: "post" },
            bindings: [{ resource_type, actions: ["create"] }]
          }
        }
      })
    })
    return new URL(answer.headers.get("location") ?? found(/(Location)/, await answer.text())).pathname
  }
}
