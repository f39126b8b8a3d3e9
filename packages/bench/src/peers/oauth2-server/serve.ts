/**
 * `@node-oauth/oauth2-server` with a token endpoint on bare `node:http`. See `peers/README.md`.
 *
 * `serve.ts TOKENS [FILE]` prints its address and TOKENS refresh tokens as JSON. Tokens are kept in memory, or in the
 * SQLite file.
 */
import type { Client, RefreshTokenModel, Token, User } from "@node-oauth/oauth2-server"
import OAuth2Server from "@node-oauth/oauth2-server"
import { listen } from "@doorhook/testkit/ListeningServer"
import { randomBytes } from "node:crypto"
import type { ServerResponse } from "node:http"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { client as configured, tokenPath } from "../../harness/ServerProcess.ts"
import { inMemory, inSqlite } from "./Storage.ts"

const [count, file] = process.argv.slice(2)

const client: Client = { id: configured.id, grants: ["authorization_code", "refresh_token"] }
const clients = new Map([[configured.id, { client, secret: configured.secret }]])
const user: User = { id: "user" }
const storage =
  file === undefined
    ? inMemory()
    : inSqlite(
        file,
        () => client,
        () => user
      )

const refreshTokens = Array.from({ length: Number(count) }, () => {
  const refreshToken = randomBytes(32).toString("hex")
  storage.saveRefreshToken({ refreshToken, scope: ["public"], client, user })
  return refreshToken
})

const model: RefreshTokenModel = {
  getClient: (id, secret) => {
    const known = clients.get(id)
    return Promise.resolve(known?.secret === secret && known.client)
  },
  getRefreshToken: (value) => Promise.resolve(storage.findRefreshToken(value)),
  getAccessToken: (value) => Promise.resolve(storage.findAccessToken(value)),
  revokeToken: ({ refreshToken }) => Promise.resolve(storage.removeRefreshToken(refreshToken)),
  saveToken: (token, of, by) => {
    const saved: Token = { ...token, client: of, user: by }
    storage.saveAccessToken(saved)
    return Promise.resolve(saved)
  }
}

const oauth = new OAuth2Server({ model, accessTokenLifetime: 86_400, alwaysIssueNewRefreshToken: false })

const respond = (to: ServerResponse, { body, headers, status }: OAuth2Server.Response): void => {
  const written = JSON.stringify(body)
  to.writeHead(status ?? 500, {
    ...headers,
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(written)
  }).end(written)
}

const server = createServer((incoming, outgoing) => {
  void (async () => {
    const body = Object.fromEntries(new URLSearchParams(await text(incoming)))
    // The library reads only these headers.
    const headers = {
      "content-type": incoming.headers["content-type"] ?? "",
      "content-length": incoming.headers["content-length"] ?? "0"
    }
    const request = new OAuth2Server.Request({ body, headers, method: incoming.method ?? "", query: {} })
    const response = new OAuth2Server.Response({})
    if (incoming.url === tokenPath) {
      await oauth.token(request, response).catch((error: unknown) => {
        response.status = error instanceof OAuth2Server.OAuthError ? error.code : 500
      })
    } else {
      response.status = 404
    }
    respond(outgoing, response)
  })()
})
const { url } = await listen(server)
process.stdout.write(`${JSON.stringify({ url, refreshTokens })}\n`)
