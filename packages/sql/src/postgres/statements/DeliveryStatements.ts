/**
 * Statements that store deliveries and move them on. Rows come as one array for each column, so that a statement has one
 * text whatever its number of rows. Several rows are always locked in the order of their ids, and those of `queue` before
 * those of `deliveries`.
 */
import { Transitions } from "@doorhook/core"
import { announceLastId } from "../FeedWatermark.ts"
import { channel } from "../PostgresDialect.ts"
import { lastOf } from "./CancellationStatements.ts"
import { addToTalliesIf } from "./TallyStatements.ts"

/** What names a delivery and never changes. */
const identity = "id, event_id, integration_id, created_at"

const queuedNames = `${identity}, state, attempts, early, lane, due_at, worker, resend`

/**
 * Keeps the memberships of some workers, to which something is leased, until the transaction ends: a heartbeat that ends one
 * of them comes before or after it, and releases all or nothing of it. A worker that is not a member gets a row that has
 * lapsed already, so that the next heartbeat releases its leases.
 */
const keepMembers = (workers: string, from: string) => `member AS MATERIALIZED (
    SELECT m.worker FROM unnest(${workers}) AS w (worker)
      CROSS JOIN LATERAL (SELECT worker FROM members WHERE members.worker = w.worker FOR KEY SHARE) AS m
  ),
  joined AS (
    INSERT INTO members (worker, until) SELECT w.worker, 0 FROM ${from}unnest(${workers}) AS w (worker)
    WHERE w.worker <> ALL (ARRAY(SELECT worker FROM member))
    ON CONFLICT (worker) DO UPDATE SET until = members.until
  )`

/** The same, before deliveries are locked that are to be leased. */
export const keepWorkers = `WITH ${keepMembers("$1::text[]", "")} SELECT 1 FROM member`

/** The workers that attempt some deliveries which were cancelled meanwhile. */
export const workersOfEnded = `SELECT DISTINCT worker FROM deliveries WHERE id = ANY($1) AND worker IS NOT NULL ORDER BY worker`

/** The integrations that events are matched with, as the database has them now: of these buildings and these tenants. */
const scoped = `SELECT id, version FROM integrations WHERE scope_type = 'building' AND scope_id = ANY($40::bigint[])
    UNION ALL SELECT id, version FROM integrations WHERE scope_type = 'tenant' AND scope_id = ANY($41::bigint[])`

/**
 * Appends events and their deliveries, the active ones and the ended ones, with numbers in the order given, counts them, and
 * wakes the workers of other processes where deliveries are due. Stores nothing if one of some integrations (none, if that
 * is known already) is deleted, changed, or not enabled though a delivery needs that; they stay as they are until the
 * transaction ends. Stores nothing either, and returns one row without an id, if the integrations of the events' scopes are
 * not the candidates ($38, by growing id) that they were matched with, in the same versions ($39). Returns the deliveries' ids, or one null for none.
 */
export const insert = `WITH fresh AS MATERIALIZED (
    SELECT 1 WHERE $38::bigint[] IS NULL OR (
      SELECT coalesce(array_agg(now.id ORDER BY now.id), '{}') = $38::bigint[]
        AND coalesce(array_agg(now.version::bigint ORDER BY now.id), '{}') = $39::bigint[]
      FROM (${scoped}) AS now
    )
  ),
  locked AS MATERIALIZED (
    SELECT i.version = m.version AND (i.status = 'enabled' OR m.active = 0) AS sound
    FROM fresh CROSS JOIN unnest($1::bigint[], $2::bigint[], $42::bigint[]) AS m (id, version, active)
      CROSS JOIN LATERAL (SELECT status, version FROM integrations WHERE id = m.id FOR KEY SHARE) AS i
  ),
  announced AS MATERIALIZED (
    SELECT ${announceLastId} FROM locked HAVING count(*) FILTER (WHERE sound) = cardinality($1::bigint[])
      AND EXISTS (SELECT 1 FROM fresh)
  ),
  taken AS MATERIALIZED (
    SELECT ARRAY(SELECT nextval('delivery_ids') FROM generate_series(1, $3::bigint)) AS ids,
      ARRAY(SELECT nextval('event_numbers') FROM generate_series(1, $4::bigint)) AS seqs
    FROM announced
  ),
  stored_events AS (
    INSERT INTO events
      (seq, id, resource_type, action, building_id, tenant_ids, data, created_at, first_delivery, last_delivery)
    SELECT t.seqs[e.place], e.id, e.resource_type, e.action, e.building_id, e.tenant_ids, e.data, e.created_at,
      t.ids[e.first], t.ids[e.last]
    FROM taken AS t CROSS JOIN unnest($5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[],
        $11::bigint[], $12::bigint[], $13::bigint[]) WITH ORDINALITY
      AS e (id, resource_type, action, building_id, tenant_ids, data, created_at, first, last, place)
  ),
  stored_for_readers AS (
    INSERT INTO events_of (event_seq, created_at, scope_type, scope_id, resource_type)
    SELECT t.seqs[e.place], e.created_at, 'building', e.building_id, e.resource_type
    FROM taken AS t CROSS JOIN unnest($8::bigint[], $6::text[], $11::bigint[]) WITH ORDINALITY
      AS e (building_id, resource_type, created_at, place)
    UNION ALL
    SELECT t.seqs[e.place], ($11::bigint[])[e.place], 'tenant', e.tenant_id, e.resource_type
    FROM taken AS t CROSS JOIN unnest($14::bigint[], $15::bigint[], $16::text[]) AS e (place, tenant_id, resource_type)
  ),
  stored_active AS (
    INSERT INTO queue (${queuedNames})
    SELECT t.ids[d.place], d.event_id, d.integration_id, d.created_at, d.state, d.attempts, d.early, d.lane, d.due_at,
      d.worker, d.resend
    FROM taken AS t CROSS JOIN unnest($17::bigint[], $18::text[], $19::bigint[], $20::bigint[], $21::text[], $22::bigint[],
        $23::bigint[], $24::bigint[], $25::bigint[], $26::text[], $27::bigint[])
      AS d (place, event_id, integration_id, created_at, state, attempts, early, lane, due_at, worker, resend)
  ),
  stored_ended AS (
    INSERT INTO deliveries (${identity}, state, reason, attempts, early, lane, worker)
    SELECT t.ids[d.place], d.event_id, d.integration_id, d.created_at, d.state, d.reason, d.attempts, d.early, d.lane,
      d.worker
    FROM taken AS t CROSS JOIN unnest($28::bigint[], $29::text[], $30::bigint[], $31::bigint[], $32::text[], $33::text[],
        $34::bigint[], $35::bigint[], $36::bigint[], $37::text[])
      AS d (place, event_id, integration_id, created_at, state, reason, attempts, early, lane, worker)
  ),
  counted AS (${addToTalliesIf("FROM taken", 45)}),
  ${keepMembers("$44::text[]", "taken CROSS JOIN ")},
  signalled AS MATERIALIZED (SELECT pg_notify('${channel}', '') FROM taken WHERE $43::bigint > 0)
  SELECT unnest(CASE WHEN cardinality(ids) = 0 THEN ARRAY[NULL::bigint] ELSE ids END) AS id, false AS stale
    FROM taken LEFT JOIN signalled ON true
  UNION ALL SELECT NULL, true WHERE NOT EXISTS (SELECT 1 FROM fresh)`

/** Puts deliveries, which were taken from the ended ones, back among the active ones. */
export const insertQueued = `INSERT INTO queue (${queuedNames})
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::bigint[], $10::text[], $11::bigint[])`

const endedColumns = `${identity}, state, reason, attempts, early, lane, worker,
    attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail, attempt_excerpt`

const toAttempts = `INSERT INTO attempts
    (delivery_id, number, started_at, duration_ms, outcome, status, detail, response_excerpt)`

/**
 * Ends acknowledged deliveries, given in the order of their ids, with their attempts, and counts them: those that are leased
 * to a worker, whose attempt is the next one, that are not to be sent again and whose integration is enabled and does not
 * fail (or, if that is not asked for, whatever it is). Leaves the others as they are. Returns the ids of the ended ones.
 */
export const acknowledge = `WITH sound AS MATERIALIZED (
    SELECT id FROM integrations WHERE id = ANY($11::bigint[]) AND status = 'enabled' AND failing_since IS NULL
  ),
  held AS MATERIALIZED (
    SELECT q.id, q.event_id, q.integration_id, q.created_at, s.attempts, s.early, s.lane, s.started_at, s.duration_ms,
      s.outcome, s.status, s.detail, s.excerpt
    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $12::bigint[], $5::bigint[], $6::bigint[], $7::text[],
        $8::bigint[], $9::text[], $10::text[])
      AS s (id, attempts, early, lane, started_at, duration_ms, outcome, status, detail, excerpt)
      CROSS JOIN LATERAL (
        SELECT id, event_id, integration_id, created_at FROM queue
        WHERE id = s.id AND worker = $1::text AND attempts = s.attempts - 1 AND resend < 2
          AND ($11::bigint[] IS NULL OR integration_id = ANY(ARRAY(SELECT id FROM sound)))
          AND integration_id <> ALL (ARRAY(SELECT e.integration_id FROM endings AS e))
        FOR UPDATE
      ) AS q
  ),
  taken AS (
    DELETE FROM queue AS q WHERE q.id = ANY (ARRAY(SELECT id FROM held))
  ),
  ended AS (
    INSERT INTO deliveries (${endedColumns})
    SELECT id, event_id, integration_id, created_at, 'delivered', NULL, attempts, early, lane, NULL, started_at, duration_ms,
      outcome, status, detail, excerpt
    FROM held
  ),
  counted AS (
    INSERT INTO tallies (events, pending, delivering, retrying, delivered, exhausted, expired, cancelled, skipped)
    SELECT 0, 0, -count(*), 0, count(*), 0, 0, 0, 0 FROM held HAVING count(*) > 0
  )
  SELECT id FROM held`

/** The state of a delivery that is released: core's `Transitions.released`. */
const releasedState = `CASE WHEN attempts = 0 OR resend > 0 THEN 'pending' ELSE 'retrying' END`

/** Counts deliveries that were released, by the query that returns their new states. */
const countReleased = (from: string): string =>
  `INSERT INTO tallies (events, pending, delivering, retrying, delivered, exhausted, expired, cancelled, skipped)
    SELECT 0, count(*) FILTER (WHERE state = 'pending'), -count(*), count(*) FILTER (WHERE state = 'retrying'), 0, 0, 0, 0, 0
    FROM ${from} HAVING count(*) > 0`

/**
 * Gives back deliveries that are leased to a worker, given in the order of their ids with the times at which they are due,
 * and counts them. Of those that were cancelled under the lease the worker is forgotten: after the others, as locks go.
 * Returns the ids of both.
 */
export const release = `WITH held AS MATERIALIZED (
    SELECT q.place, r.due_at FROM unnest($2::bigint[], $3::bigint[]) AS r (id, due_at) CROSS JOIN LATERAL (
      SELECT ctid AS place FROM queue WHERE id = r.id AND worker = $1::text FOR UPDATE
    ) AS q
  ),
  released AS (
    UPDATE queue AS q SET state = ${releasedState}, worker = NULL, resend = least(q.resend, 1),
      due_at = CASE WHEN q.resend = 2 THEN least(held.due_at, q.due_at) ELSE held.due_at END
    FROM held WHERE q.ctid = held.place RETURNING q.id, q.state
  ),
  counted AS (${countReleased("released")}),
  forgotten AS (
    UPDATE deliveries SET worker = NULL WHERE id = ANY(ARRAY(
      SELECT id FROM deliveries
      WHERE (SELECT count(*) FROM released) < cardinality($2::bigint[]) AND id = ANY($2::bigint[]) AND worker = $1::text
      ORDER BY id FOR UPDATE
    )) RETURNING id
  )
  SELECT id FROM released UNION ALL SELECT id FROM forgotten`

/** Those of some deliveries that are leased to a worker, or were cancelled under its lease. */
export const leasedAmong = `SELECT id FROM queue WHERE id = ANY($2) AND worker = $1
  UNION ALL SELECT id FROM deliveries WHERE id = ANY($2) AND worker = $1`

/**
 * Releases what some workers lease, due when it was, and counts it; and of one worker ($2) what it leases of deliveries
 * created before a time ($3, 0 for none) but some ($4). Wakes the workers of other processes if it released any. Walks all
 * leased deliveries, after one search in the index for each integration that has active ones: rare, and cheaper than an
 * index by worker, which each delivery would enter.
 */
export const releaseAllOf = `WITH RECURSIVE holders (integration_id) AS (
    (SELECT integration_id FROM queue ORDER BY integration_id LIMIT 1)
    UNION ALL
    SELECT (SELECT q.integration_id FROM queue AS q WHERE q.integration_id > h.integration_id
      ORDER BY q.integration_id LIMIT 1)
    FROM holders AS h WHERE h.integration_id IS NOT NULL
  ),
  found AS MATERIALIZED (
    SELECT q.id FROM holders AS h CROSS JOIN LATERAL (
      SELECT id FROM queue WHERE integration_id = h.integration_id AND state = 'delivering' AND (worker = ANY($1::text[])
        OR (worker = $2::text AND created_at < $3::bigint AND id <> ALL ($4::bigint[])))
    ) AS q
  ),
  held AS MATERIALIZED (
    SELECT ctid AS place FROM queue
    WHERE id = ANY(ARRAY(SELECT id FROM found)) AND (worker = ANY($1::text[]) OR worker = $2::text)
    ORDER BY id FOR UPDATE
  ),
  released AS (
    UPDATE queue AS q SET state = ${releasedState}, worker = NULL, resend = least(q.resend, 1)
    WHERE q.ctid = ANY(ARRAY(SELECT place FROM held)) RETURNING q.state
  ),
  counted AS (${countReleased("released")}),
  number AS MATERIALIZED (SELECT count(*) AS count FROM released),
  signalled AS MATERIALIZED (SELECT pg_notify('${channel}', '') FROM number WHERE count > 0)
  SELECT count FROM number LEFT JOIN signalled ON true`

/** The same for deliveries that were cancelled under a lease: forgets their workers. Ranges of an index that holds only these. */
export const forget = `UPDATE deliveries SET worker = NULL WHERE id = ANY(ARRAY(
    SELECT id FROM deliveries
    WHERE worker IS NOT NULL AND worker = ANY($1::text[] || $2::text)
      AND (worker = ANY($1::text[]) OR (created_at < $3::bigint AND id <> ALL ($4::bigint[])))
    ORDER BY id + 0 FOR UPDATE
  ))`

/**
 * Locks a worker's own row, made if there is none. Says until when the worker was a member, if it was. The first statement of
 * a heartbeat: nothing is held yet by who waits here.
 */
export const lockOwn = `INSERT INTO members (worker, until) VALUES ($1, 0)
  ON CONFLICT (worker) DO UPDATE SET until = members.until
  RETURNING CASE WHEN xmax <> 0 THEN until END AS until`

/** Locks a worker's own row, which it has locked, also against those that keep its membership. Nothing else is locked yet. */
export const lockAlone = `SELECT worker FROM members WHERE worker = $1 FOR UPDATE`

/** The other workers whose memberships have lapsed, locked; those that are in use now are left to a later heartbeat. */
export const lapsed = `SELECT worker FROM members WHERE until <= $1 AND worker <> $2 FOR UPDATE SKIP LOCKED`

/** Continues a membership whose row is locked. */
export const renewMembership = `UPDATE members SET until = $2 WHERE worker = $1`

/** Ends memberships whose rows are locked. */
export const leave = `DELETE FROM members WHERE worker = ANY($1::text[])`

export const roll = `SELECT count(*) AS workers, count(CASE WHEN worker < $1 THEN 1 END) AS rank FROM members`

/** Moves active deliveries, which are locked already, to the ended ones. */
export const end = `WITH taken AS (DELETE FROM queue WHERE id = ANY($1))
  INSERT INTO deliveries (${endedColumns})
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[],
    $8::bigint[], $9::bigint[], $10::text[], $11::bigint[], $12::bigint[], $13::text[], $14::bigint[], $15::text[],
    $16::text[])`

/**
 * Which of some integrations exist, and what they are. The rows are shared with whoever asks the same; who would change
 * them (`lockForChange`) waits until what was decided by them is stored, and then sees it. Who only notes how they fail
 * does not wait.
 */
export const targets = `SELECT id, status, version FROM integrations WHERE id = ANY($1) ORDER BY id FOR KEY SHARE`

const integrationsOf = (ids: string): string => `SELECT integration_id AS id FROM queue WHERE id = ANY(${ids})
    UNION SELECT integration_id AS id FROM deliveries WHERE id = ANY(${ids})`

/** The integrations of some deliveries. */
export const integrationsOfDeliveries = integrationsOf("$1")

/** Locks an integration, beside who publishes to it. */
export const lockIntegration = `SELECT id FROM integrations WHERE id = $1 FOR NO KEY UPDATE`

/** Locks an integration whose status or version may change: who published to it before has committed, who would waits. */
export const lockForChange = `SELECT id FROM integrations WHERE id = $1 FOR UPDATE`

/** The first key of the locks on scopes: «scop» in ASCII. */
const scopeLocks = 0x73636f70

/** Locks the integrations of a scope against further ones, by the name of the scope, until the transaction ends. */
export const lockScope = `SELECT pg_advisory_xact_lock(${scopeLocks}, hashtext($1))`

const subject = `id, scope_type, scope_id, status, disabled_reason, failing_since, failing_noticed, failing_attempts,
    failing_retry_after`

/**
 * What settlements look at of some integrations. Those among them for which something may follow ($2, and those that fail or
 * are disabled) are locked beside publications, if they are free. Returns which are locked.
 */
export const lockSubjects = `WITH locked AS MATERIALIZED (
    SELECT ${subject} FROM integrations
    WHERE id = ANY($1) AND (id = ANY($2) OR status <> 'enabled' OR failing_since IS NOT NULL)
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
  )
  SELECT ${subject}, true AS locked FROM locked
  UNION ALL
  SELECT ${subject}, false FROM integrations WHERE id = ANY($1) AND id <> ALL (ARRAY(SELECT id FROM locked))`

/** Locks for change those of some integrations that nobody publishes to, and returns them. */
export const lockFreeForChange = `SELECT id FROM integrations WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED`

/** In these words, because only so is it seen that the partial indexes serve. */
export const isUnacknowledged = `state <> 'delivered'`

/**
 * The newest delivery of an integration that ended without an acknowledgement and that no worker may still be sending: the
 * end of a range of an index for each state.
 */
export const newestUnacknowledged = `SELECT max(id) AS id FROM (${Transitions.unacknowledgedStates
  .map(
    (state) => `(SELECT id FROM deliveries
        WHERE integration_id = $1 AND state = '${state}' AND ${isUnacknowledged} AND worker IS NULL
      ORDER BY id DESC LIMIT 1)`
  )
  .join(" UNION ALL ")}) AS newest`

/** Locks some active deliveries; where those among them stand that are wanted, and whether they are of endings. */
export const queuedStandings = `WITH locked AS MATERIALIZED (
    SELECT ${identity}, state, NULL::text AS reason, attempts, early, lane, due_at, worker, resend,
      coalesce(id <= ${lastOf("queue.integration_id")}, false) AS ending
    FROM queue WHERE id = ANY($1) ORDER BY id FOR UPDATE
  )
  SELECT * FROM locked WHERE id = ANY($2)`

/** The same of ended ones. */
export const endedStandings = `SELECT ${identity}, state, reason, attempts, early, lane, NULL::bigint AS due_at, worker,
    0 AS resend
  FROM deliveries WHERE id = ANY($1) ORDER BY id FOR UPDATE`

/**
 * From rows that come as parameters to the rows of a table with the same ids. Written so that the first are always the outer
 * ones: a plan that was made while the table was small would else walk through all of it.
 */
const rowsOf = (table: string, given: string): string =>
  `CROSS JOIN LATERAL (SELECT ctid AS place FROM ${table} WHERE id = ${given}.id OFFSET 0) AS old`

/**
 * Moves active deliveries, which are locked already, to where they stand next, and stores the attempts that were made of
 * them, if any: the last of each.
 */
export const requeue = `WITH attempted AS (
    ${toAttempts}
    SELECT * FROM unnest($1::bigint[], $3::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[], $13::text[],
        $14::text[]) AS a (id, number, started_at, duration_ms, outcome, status, detail, response_excerpt)
    WHERE a.outcome IS NOT NULL
  )
  UPDATE queue AS d SET state = moved.state, attempts = moved.attempts, early = moved.early,
    lane = moved.lane, due_at = moved.due_at, worker = moved.worker, resend = moved.resend
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[])
    AS moved (id, state, attempts, early, lane, due_at, worker, resend)
    ${rowsOf("queue", "moved")}
  WHERE d.ctid = old.place`

/** Changes ended deliveries, which are locked already. Their state stays. */
export const updateEnded = `UPDATE deliveries AS d SET attempts = e.attempts, early = e.early, worker = e.worker,
    attempt_started_at = e.started_at, attempt_duration_ms = e.duration_ms, attempt_outcome = e.outcome,
    attempt_status = e.status, attempt_detail = e.detail, attempt_excerpt = e.excerpt
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[],
      $9::text[], $10::text[])
    AS e (id, attempts, early, worker, started_at, duration_ms, outcome, status, detail, excerpt)
    ${rowsOf("deliveries", "e")}
  WHERE d.ctid = old.place`

/**
 * Takes deliveries, which are locked already, from what has ended. The attempts that ended them are kept. `insertQueued`
 * comes after it.
 */
export const takeEnded = `WITH ended AS (DELETE FROM deliveries WHERE id = ANY($1) RETURNING *)
  ${toAttempts}
  SELECT id, attempts, attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_detail,
    attempt_excerpt
  FROM ended WHERE attempt_outcome IS NOT NULL`

/**
 * The first deliveries of an integration after one that ended without an acknowledgement or wait for a retry: the beginning
 * of a range of an index for each state.
 */
export const recoverable = `SELECT id, created_at FROM (${Transitions.unacknowledgedStates
  .map(
    (state) => `(SELECT id, created_at FROM deliveries
      WHERE integration_id = $1 AND state = '${state}' AND ${isUnacknowledged} AND id > $2 ORDER BY id LIMIT $3)`
  )
  .join(" UNION ALL ")}
    UNION ALL (SELECT id, created_at FROM queue
      WHERE integration_id = $1 AND state = 'retrying' AND id > $2 ORDER BY id LIMIT $3)
  ) AS found ORDER BY id LIMIT $3`

/** Wakes the workers of all processes when the transaction commits. */
export const signal = `SELECT pg_notify('${channel}', '')`

/** Lets transactions end that lock rows which a claim passed over: a few milliseconds. */
export const pause = "SELECT pg_sleep(0.003)"
