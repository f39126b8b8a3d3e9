/**
 * The refresh request in both encodings: multipart as documented for the API, and urlencoded as in every OAuth library.
 */
import { requestText } from "./Load.ts"
import { client } from "./ServerProcess.ts"

export const tokenPath = "/oauth/token"

export type Encoding = "urlencoded" | "multipart"

const boundary = "----formdata-bench-042301786516"

const bodyOf = (encoding: Encoding, fields: Readonly<Record<string, string>>): string => {
  if (encoding === "urlencoded") return new URLSearchParams(fields).toString()
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  )
  return `${parts.join("")}--${boundary}--\r\n`
}

const contentTypes = {
  urlencoded: "application/x-www-form-urlencoded",
  multipart: `multipart/form-data; boundary=${boundary}`
} as const satisfies Record<Encoding, string>

/** Returns the fields of a refresh by a confidential client. */
export const refreshFields = (refresh_token: string): Readonly<Record<string, string>> => ({
  grant_type: "refresh_token",
  client_id: client.id,
  client_secret: client.secret,
  refresh_token
})

/** Returns the complete request. */
export const refreshRequest = (refresh_token: string, encoding: Encoding): string =>
  requestText(
    "POST",
    tokenPath,
    { "content-type": contentTypes[encoding] },
    bodyOf(encoding, refreshFields(refresh_token))
  )
