/**
 * Tokens and integrations of the hand-written server: in a SQLite file of its own, or in doorhook's tables on PostgreSQL.
 */
import { hash, randomBytes } from "node:crypto"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"
import { building, client, user } from "../../harness/ServerProcess.ts"

export type Row = Readonly<Record<string, unknown>>

interface Stored {
  /** The path of the integration. */
  readonly path: string
  readonly tokens: ReadonlyArray<string>
}

interface SyncStorage extends Stored {
  readonly isAsync: false
  readonly findGrant: (token: string) => Row | undefined
  readonly findIntegration: (id: number) => Row | undefined
}

interface AsyncStorage extends Stored {
  readonly isAsync: true
  readonly findGrant: (token: string) => Promise<Row | undefined>
  readonly findIntegration: (id: number) => Promise<Row | undefined>
}

const hashOf = (token: string): string => hash("sha256", token, "base64url")

const tables = `PRAGMA journal_mode = WAL;
  CREATE TABLE grants (
    id INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    revoked_at INTEGER
  ) STRICT;
  CREATE TABLE access_tokens (
    hash TEXT PRIMARY KEY,
    grant_id INTEGER NOT NULL REFERENCES grants (id),
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE integrations (
    id INTEGER PRIMARY KEY,
    building_id INTEGER NOT NULL,
    integrator TEXT NOT NULL,
    url TEXT NOT NULL,
    method TEXT NOT NULL,
    bindings TEXT NOT NULL,
    name TEXT,
    description TEXT,
    detail TEXT NOT NULL,
    status TEXT NOT NULL,
    disabled_reason TEXT,
    created_by_client TEXT NOT NULL,
    signing_secret TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT`

/** Creates the database with an integration and some tokens. */
export const inSqlite = ([count, file = ":memory:"]: ReadonlyArray<string>): SyncStorage => {
  const db = new DatabaseSync(file)
  db.exec(tables)
  const insertGrant = db.prepare("INSERT INTO grants VALUES (?, ?, ?, 'public', NULL)")
  const insertToken = db.prepare("INSERT INTO access_tokens VALUES (?, ?, ?)")
  db.exec("BEGIN")
  const tokens = Array.from({ length: Number(count) }, (_, id) => {
    const token = randomBytes(32).toString("base64url")
    insertGrant.run(id, user.login, client.id)
    insertToken.run(hashOf(token), id, Date.now() + 86_400_000)
    return token
  })
  db.prepare(
    `INSERT INTO integrations VALUES (1, ?, 'webhook', 'http://127.0.0.1:9/hook', 'post',
    '[{"resource_type":"access_log","actions":["create"]}]', NULL, NULL, 'full', 'enabled', NULL, ?, ?, 1, ?, ?)`
  ).run(building, client.id, randomBytes(24).toString("base64"), Date.now(), Date.now())
  db.exec("COMMIT")

  const findGrant = db.prepare(
    `SELECT g.id, g.user_id, g.client_id, g.revoked_at, t.expires_at
    FROM access_tokens t JOIN grants g ON g.id = t.grant_id WHERE t.hash = ?`
  )
  const findIntegration = db.prepare(
    `SELECT id, building_id, integrator, url, method, bindings, name, description, detail, status, disabled_reason,
      created_by_client, version, created_at, updated_at FROM integrations WHERE id = ?`
  )
  return {
    isAsync: false,
    path: `/v4/buildings/${building}/integrations/1`,
    tokens,
    findGrant: (token) => findGrant.get(hashOf(token)),
    findIntegration: (id) => findIntegration.get(id)
  }
}

/** Reads what doorhook stored, with the statements that doorhook uses. The server prepares each once per connection. */
export const inPostgres = ([url = "", path = "", ...tokens]: ReadonlyArray<string>): AsyncStorage => {
  const pool = new pg.Pool({ connectionString: url, max: 10, options: "-c search_path=doorhook -c enable_seqscan=off" })
  const findGrant = {
    name: "grant",
    text: `SELECT t.seq, t.hash, t.grant_id AS id, t.scope, t.resource, t.created_at, t.expires_at, t.retires,
      g.user_id, g.client_id, g.scope AS grant_scope, g.resource AS grant_resource, g.created_at AS grant_created_at,
      g.revoked_at
    FROM access_tokens AS t JOIN grants AS g ON g.id = t.grant_id WHERE t.seq = $1`
  }
  const findIntegration = {
    name: "integration",
    text: `SELECT id, scope_type, scope_id AS building_id, integrator, url, method, bindings, name, description, detail,
      status, disabled_reason, created_by_user, created_by_client, signing_secret, previous_secrets, overrides,
      subscription, grant_id,
      failing_since, failing_noticed, failing_attempts, failing_retry_after, version, created_at, updated_at
    FROM integrations WHERE id = $1`
  }
  return {
    isAsync: true,
    path,
    tokens,
    findGrant: async (token) => {
      const [, seq, random = ""] = /^dh_at_(\d+)\.(.+)$/.exec(token) ?? []
      const { rows } = await pool.query<Row>({ ...findGrant, values: [seq] })
      return rows.find((row) => row["hash"] === hashOf(random))
    },
    findIntegration: async (id) => (await pool.query<Row>({ ...findIntegration, values: [id] })).rows[0]
  }
}
