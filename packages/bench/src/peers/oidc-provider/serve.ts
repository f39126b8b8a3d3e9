/**
 * `oidc-provider` with its own HTTP handler. See the README in this folder.
 *
 * `serve.ts TOKENS` prints its address and TOKENS refresh tokens as JSON.
 */
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import Provider from "oidc-provider"
import { tokenPath } from "../../harness/RefreshRequest.ts"
import { client as configured } from "../../harness/ServerProcess.ts"

const [count] = process.argv.slice(2)

const scope = "public"
const accountId = "user"
const lifetime = 10 * 365 * 86_400

const provider = new Provider("http://127.0.0.1", {
  clients: [
    {
      client_id: configured.id,
      client_secret: configured.secret,
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: ["https://client.example/callback"],
      token_endpoint_auth_method: "client_secret_post"
    }
  ],
  // `offline_access` enables the refresh grant.
  scopes: [scope, "offline_access"],
  routes: { token: tokenPath },
  rotateRefreshToken: false,
  findAccount: () => ({ accountId, claims: () => ({ sub: accountId }) }),
  ttl: { AccessToken: 86_400, Grant: lifetime, RefreshToken: lifetime },
  // The benchmark needs no login.
  features: { devInteractions: { enabled: false } },
  cookies: { keys: [randomBytes(32).toString("hex")] }
})

const newRefreshToken = async (): Promise<string> => {
  const client = await provider.Client.find(configured.id)
  const grant = new provider.Grant({ accountId, clientId: configured.id })
  grant.addOIDCScope(scope)
  const grantId = await grant.save()
  return new provider.RefreshToken({ accountId, client, grantId, gty: "authorization_code", scope }).save()
}

const refreshTokens = await Promise.all(Array.from({ length: Number(count) }, newRefreshToken))

const server = createServer(provider.callback()).listen(0, "127.0.0.1", () => {
  const address = server.address()
  const port = address !== null && typeof address === "object" ? address.port : 0
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, refreshTokens })}\n`)
})
