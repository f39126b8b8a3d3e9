/**
 * Token storage for `@node-oauth/oauth2-server`, in maps or in a SQLite file.
 */
import type { Client, RefreshToken, Token, User } from "@node-oauth/oauth2-server"
import { DatabaseSync } from "node:sqlite"

export interface Storage {
  readonly saveRefreshToken: (token: RefreshToken) => void
  readonly findRefreshToken: (value: string) => RefreshToken | undefined
  readonly removeRefreshToken: (value: string) => boolean
  readonly saveAccessToken: (token: Token) => void
  readonly findAccessToken: (value: string) => Token | undefined
}

export const inMemory = (): Storage => {
  const accessTokens = new Map<string, Token>()
  const refreshTokens = new Map<string, RefreshToken>()
  return {
    saveRefreshToken: (token) => void refreshTokens.set(token.refreshToken, token),
    findRefreshToken: (value) => refreshTokens.get(value),
    removeRefreshToken: (value) => refreshTokens.delete(value),
    saveAccessToken: (token) => void accessTokens.set(token.accessToken, token),
    findAccessToken: (value) => accessTokens.get(value)
  }
}

/** Opens the storage in a file. Each statement is a separate transaction, synced to disk before it returns. */
export const inSqlite = (file: string, clientOf: (id: string) => Client, userOf: (id: string) => User): Storage => {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE refresh_tokens (
      token TEXT PRIMARY KEY,
      client_id TEXT NOT NULL,
      user_id TEXT NOT NULL,
      scope TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE access_tokens (
      token TEXT PRIMARY KEY,
      client_id TEXT NOT NULL,
      user_id TEXT NOT NULL,
      scope TEXT NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`)
  const insertRefreshToken = db.prepare("INSERT INTO refresh_tokens VALUES (?, ?, ?, ?)")
  const selectRefreshToken = db.prepare("SELECT client_id, user_id, scope FROM refresh_tokens WHERE token = ?")
  const deleteRefreshToken = db.prepare("DELETE FROM refresh_tokens WHERE token = ?")
  const insertAccessToken = db.prepare("INSERT INTO access_tokens VALUES (?, ?, ?, ?, ?)")
  const selectAccessToken = db.prepare(
    "SELECT client_id, user_id, scope, expires_at FROM access_tokens WHERE token = ?"
  )
  type Row = ReturnType<typeof selectAccessToken.get>
  const grantOf = (row: NonNullable<Row>) => ({
    client: clientOf(String(row["client_id"])),
    user: userOf(String(row["user_id"])),
    scope: String(row["scope"]).split(" ")
  })
  const scopeText = (scope: ReadonlyArray<string> = []): string => scope.join(" ")
  return {
    saveRefreshToken: ({ client, refreshToken, scope, user }) =>
      void insertRefreshToken.run(refreshToken, client.id, String(user["id"]), scopeText(scope)),
    findRefreshToken: (refreshToken) => {
      const row = selectRefreshToken.get(refreshToken)
      return row && { ...grantOf(row), refreshToken }
    },
    removeRefreshToken: (refreshToken) => deleteRefreshToken.run(refreshToken).changes === 1,
    saveAccessToken: ({ accessToken, accessTokenExpiresAt, client, scope, user }) =>
      void insertAccessToken.run(
        accessToken,
        client.id,
        String(user["id"]),
        scopeText(scope),
        accessTokenExpiresAt?.getTime() ?? 0
      ),
    findAccessToken: (accessToken) => {
      const row = selectAccessToken.get(accessToken)
      return row && { ...grantOf(row), accessToken, accessTokenExpiresAt: new Date(Number(row["expires_at"])) }
    }
  }
}
