/**
 * Statements that convert a new file to the fifth version of the schema.
 */
export const asFifthVersion = `ALTER TABLE integrations DROP COLUMN failing_attempts;
  ALTER TABLE integrations DROP COLUMN failing_retry_after;
  DROP TABLE deliveries; DROP TABLE deliveries_of; DROP TABLE owner; DROP TABLE cancellations;
  CREATE TABLE numbers (event INTEGER NOT NULL, delivery INTEGER NOT NULL, indexed INTEGER NOT NULL) STRICT;
  INSERT INTO numbers VALUES (0, 0, 0);
  CREATE TABLE queue (id INTEGER PRIMARY KEY, event_id TEXT NOT NULL, integration_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, attempts INTEGER NOT NULL, lane INTEGER NOT NULL,
    due_at INTEGER NOT NULL, lease_token TEXT, resend INTEGER NOT NULL) STRICT;
  CREATE INDEX queue_due ON queue (lane, integration_id, due_at);
  CREATE INDEX queue_by_integration ON queue (integration_id, state);
  CREATE TABLE endings (integration_id INTEGER PRIMARY KEY, last_id INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
  CREATE TABLE deliveries (id INTEGER PRIMARY KEY, event_id TEXT NOT NULL, integration_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, attempts INTEGER NOT NULL, lane INTEGER NOT NULL,
    lease_token TEXT, attempt_started_at INTEGER, attempt_duration_ms INTEGER, attempt_outcome TEXT,
    attempt_status INTEGER, attempt_detail TEXT, attempt_excerpt TEXT) STRICT;
  CREATE INDEX deliveries_by_integration ON deliveries (integration_id);
  CREATE INDEX deliveries_unacknowledged ON deliveries (state) WHERE state <> 'delivered';
  CREATE INDEX deliveries_unacknowledged_by_integration ON deliveries (integration_id, state)
    WHERE state <> 'delivered';
  CREATE TABLE workers (name TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE tallies (name TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  DROP TABLE access_tokens;
  CREATE TABLE access_tokens (hash TEXT PRIMARY KEY, grant_id TEXT NOT NULL REFERENCES grants (id), created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, retires TEXT) STRICT, WITHOUT ROWID;
  CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);
  CREATE INDEX access_tokens_by_age ON access_tokens (grant_id, created_at);
  DELETE FROM doorhook_migrations WHERE migration_id > 5;`
