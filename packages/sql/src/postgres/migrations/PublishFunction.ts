/**
 * `doorhook.publish(event)`: publishes from SQL in any language, inside the caller's own transaction. A rollback undoes
 * it.
 *
 * ```sql
 * SELECT id, deliveries FROM doorhook.publish('{"resource_type":"call","action":"create","building_id":1,
 *   "tenant_ids":[101],"data":{"id":7}}');
 * ```
 *
 * The event is `text`, `json` or `jsonb`. `data` of `text` and `json` is kept byte for byte. In `jsonb`, PostgreSQL has
 * already reordered members, dropped repeated ones and rewritten numbers.
 *
 * The function runs with the rights of doorhook's own user. A host's user needs only `USAGE` on the schema and
 * `EXECUTE` on the function, and never sees signing secrets. The function follows the rules of core: `PublishRequest`
 * for valid events, `Matching` for recipients, `Transitions.enqueue` for new deliveries. Tests compare the function
 * with core.
 */
import { callLifetime } from "@doorhook/core"
import type { ResourceTypeTable } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { lockClasses } from "../Primitives.ts"
import { lastOf } from "../statements/CancellationStatements.ts"
import { announceLastIds } from "../Watermarks.ts"

const settings = `SECURITY DEFINER SET search_path = doorhook, pg_temp SET enable_seqscan = off
  SET enable_bitmapscan = on`

/** Lane of a first attempt, like core's `laneOf`. */
const lane = `CASE WHEN is_urgent THEN 0 ELSE 2 END`

/** The server's time in milliseconds since the epoch. */
const nowInMillis = `floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

/**
 * The integrations of the event's building and tenants that are bound to it. Locks only those that no other transaction
 * is changing, until the caller's transaction ends. A delivery for another is stored for the integration as it was
 * before the change; if the change ends the delivery, the next claim cancels it.
 */
const matched = `SELECT m.id, coalesce(free.status, m.status) AS status FROM (
        SELECT i.id, i.status FROM integrations AS i
        CROSS JOIN LATERAL (SELECT binds(i.bindings, type, action) AS is_bound OFFSET 0) AS bound
        WHERE ((i.scope_type = 'building' AND i.scope_id = building)
            OR (i.scope_type = 'tenant' AND i.scope_id = ANY(tenants)))
          AND bound.is_bound IS NOT FALSE
        ORDER BY i.id
      ) AS m
      LEFT JOIN LATERAL (SELECT i.status FROM integrations AS i WHERE i.id = m.id FOR KEY SHARE SKIP LOCKED) AS free ON true`

/** The function itself. */
const publish = `CREATE OR REPLACE FUNCTION publish(event text, now bigint DEFAULT ${nowInMillis}, OUT id text, OUT deliveries integer)
LANGUAGE plpgsql VOLATILE ${settings} AS $$
  #variable_conflict use_column
  DECLARE
    body json := publish.event::json;
    type text;
    action text;
    actions text[];
    is_urgent boolean;
    building bigint;
    tenants bigint[] := '{}';
    data text;
    seq bigint;
    first bigint;
    last bigint;
    waiting integer;
    skipped integer;
    call text;
    has_ended boolean := false;
    pair constant text := chr(92) || chr(92);
    escape constant text := chr(92) || 'u';
    hidden boolean := false;
  BEGIN
    IF strpos(publish.event, escape) > 0 AND NOT can_look_into(body) THEN
      IF publish.event ~ ('[' || chr(57344) || chr(57345) || ']') THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the event has an escape that PostgreSQL cannot look behind';
      END IF;
      hidden := true;
      body := replace(replace(publish.event, pair, chr(57344)), escape, chr(57345))::json;
    END IF;
    IF json_typeof(body) <> 'object' THEN
      RAISE invalid_parameter_value USING MESSAGE = 'an event must be an object';
    END IF;
    IF json_typeof(body->'resource_type') = 'string' THEN
      SELECT t.name, t.actions, t.urgent INTO type, actions, is_urgent
        FROM resource_types AS t WHERE t.name = body->>'resource_type';
    END IF;
    IF type IS NULL THEN
      RAISE invalid_parameter_value USING MESSAGE = 'resource_type must be '
        || (SELECT string_agg(t.name, ' or ' ORDER BY t.place, t.name) FROM resource_types AS t)
        || '; the setting resourceTypes declares others';
    END IF;
    action := body->>'action';
    IF json_typeof(body->'action') IS DISTINCT FROM 'string' OR NOT action = ANY(actions) THEN
      RAISE invalid_parameter_value USING MESSAGE = 'action must be ' || array_to_string(actions, ' or ');
    END IF;
    IF NOT coalesce(is_id(body->'building_id'), false) THEN
      RAISE invalid_parameter_value USING MESSAGE = 'building_id must be a positive whole number'
        || coalesce(', not ' || left((body->'building_id')::text, 40), '; it is missing');
    END IF;
    building := (body->>'building_id')::numeric::bigint;
    IF body->'tenant_ids' IS NOT NULL THEN
      IF json_typeof(body->'tenant_ids') <> 'array'
        OR EXISTS (SELECT 1 FROM json_array_elements(body->'tenant_ids') AS t (value) WHERE NOT is_id(t.value)) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'tenant_ids must be a list of positive whole numbers';
      END IF;
      tenants := ARRAY(
        SELECT (t.value #>> '{}')::numeric::bigint
        FROM json_array_elements(body->'tenant_ids') WITH ORDINALITY AS t (value, place) ORDER BY t.place
      );
    END IF;
    IF (SELECT count(*) FROM json_object_keys(body) AS k (name) WHERE k.name = 'data') > 1 THEN
      RAISE invalid_parameter_value USING MESSAGE = 'data is given more than once';
    END IF;
    IF json_typeof(body->'data') IS DISTINCT FROM 'object' THEN
      RAISE invalid_parameter_value USING MESSAGE = 'data must be an object';
    END IF;
    data := (body->'data')::text;
    IF hidden THEN
      data := replace(replace(data, chr(57345), escape), chr(57344), pair);
    END IF;
    IF octet_length(convert_to(data, 'UTF8')) > 262144 THEN
      RAISE invalid_parameter_value USING MESSAGE = 'data must be at most 256 KiB';
    END IF;

    -- Once in a transaction, by its first event.
    IF coalesce(current_setting('doorhook.announced', true), '') = '' THEN
      PERFORM ${announceLastIds};
      PERFORM set_config('doorhook.announced', 'yes', true);
    END IF;

    -- A service has the type call_end only with the setting callEnd.
    IF type IN ('call', 'call_end') AND EXISTS (SELECT 1 FROM resource_types AS t WHERE t.name = 'call_end') THEN
      call := call_id(data, CASE type WHEN 'call' THEN 'id' ELSE 'call_id' END);
      IF type = 'call_end' AND call IS NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'data.call_id must be the data.id of the call that ends';
      END IF;
      IF call IS NOT NULL THEN
        has_ended := (SELECT c.has_ended
          FROM note_calls(ARRAY[building], ARRAY[call], ARRAY[(type = 'call_end')::int::bigint], ARRAY[publish.now]) AS c);
      END IF;
    END IF;

    publish.id := make_event_id(publish.now);
    WITH matched AS (
      ${matched}
    ),
    numbered AS MATERIALIZED (
      SELECT nextval('delivery_ids') AS id, m.id AS integration_id,
        CASE WHEN m.status = 'disabled' THEN 'integration_disabled' WHEN has_ended THEN 'call_ended' END AS reason
      FROM matched AS m
    ),
    queued AS (
      INSERT INTO queue (id, event_id, integration_id, created_at, state, attempts, lane, due_at, resend)
      SELECT n.id, publish.id, n.integration_id, publish.now, 'pending', 0, ${lane}, publish.now, 0
      FROM numbered AS n WHERE n.reason IS NULL
    ),
    ended AS (
      INSERT INTO deliveries (id, event_id, integration_id, created_at, state, reason, attempts, lane)
      SELECT n.id, publish.id, n.integration_id, publish.now,
        CASE n.reason WHEN 'call_ended' THEN 'cancelled' ELSE 'skipped' END, n.reason, 0, ${lane}
      FROM numbered AS n WHERE n.reason IS NOT NULL
    )
    SELECT count(*), count(*) FILTER (WHERE n.reason IS NULL),
        count(*) FILTER (WHERE n.reason = 'integration_disabled'), min(n.id), max(n.id)
      INTO publish.deliveries, waiting, skipped, first, last FROM numbered AS n;
    INSERT INTO events AS e
        (seq, id, resource_type, action, building_id, tenant_ids, data, created_at, first_delivery, last_delivery)
      VALUES (nextval('event_numbers'), publish.id, type, action, building,
        '[' || array_to_string(tenants, ',') || ']', data, publish.now, first, last)
      RETURNING e.seq INTO seq;
    INSERT INTO events_of (scope_type, scope_id, resource_type, created_at, event_seq)
      SELECT 'building', building, type, publish.now, seq
      UNION ALL
      SELECT DISTINCT 'tenant', t.id, type, publish.now, seq FROM unnest(tenants) AS t (id);

    INSERT INTO tallies
        (events, pending, delivering, retrying, delivered, exhausted, expired, cancelled, skipped)
      VALUES (1, waiting, 0, 0, 0, 0, 0, publish.deliveries - waiting - skipped, skipped);
    -- Heard when the transaction commits, once however often it is given.
    IF waiting > 0 THEN PERFORM wake(''); END IF;
  END
$$`

/**
 * Whether a value is a valid id, like core's `readHostId`: a positive whole number that JavaScript can represent
 * exactly, or its digits as text.
 */
const isId = `CREATE OR REPLACE FUNCTION is_id(value json) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE json_typeof(value)
      WHEN 'number' THEN value::text::numeric BETWEEN 1 AND 9007199254740991 AND value::text::numeric % 1 = 0
      WHEN 'string' THEN CASE WHEN value #>> '{}' ~ '^[1-9][0-9]{0,15}$'
        THEN (value #>> '{}')::numeric <= 9007199254740991 ELSE false END
      ELSE false END
  $$`

/**
 * Makes an event id, like core's `makeEventId`: the time, so that ids sort roughly by age, then 20 random characters.
 */
const makeEventId = `CREATE OR REPLACE FUNCTION make_event_id(now bigint) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
      rest bigint := now;
      digits text := '';
      random bytea := uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
    BEGIN
      WHILE rest > 0 LOOP
        digits := substr('0123456789abcdefghijklmnopqrstuvwxyz', (rest % 36)::integer + 1, 1) || digits;
        rest := rest / 36;
      END LOOP;
      -- Five bits of each byte that is random in a UUID; byte 6 holds its version.
      RETURN 'evt_' || lpad(digits, 9, '0') || (
        SELECT string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', (get_byte(random, place) & 31) + 1, 1), '')
        FROM unnest(ARRAY[0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 16, 17, 18, 19, 20, 21, 25, 26, 27, 28]) AS u (place)
      );
    END
  $$`

/**
 * Returns a member of an event's data as the id of a call, like core's `callMarkOf`; null for anything else. PostgreSQL
 * can't look into data with an escape that its `text` can't represent, so those are replaced first.
 */
const callId = `CREATE OR REPLACE FUNCTION call_id(data text, name text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
    DECLARE
      value json;
      pair constant text := chr(92) || chr(92);
      -- The halves of a surrogate pair.
      high constant text := pair || 'ud[89ab][0-9a-f]{2}';
      low constant text := pair || 'ud[c-f][0-9a-f]{2}';
    BEGIN
      IF strpos(data, chr(92) || 'u') > 0 AND NOT can_look_into(data::json) THEN
        value := replace(regexp_replace(replace(data, pair, chr(57344)),
          pair || 'u0000|' || high || '(?!' || low || ')|(?<!' || high || ')' || low, chr(57345), 'gi'
        ), chr(57344), pair)::json -> name;
        IF strpos(value #>> '{}', chr(57345)) > 0 THEN RETURN NULL; END IF;
      ELSE
        value := data::json -> name;
      END IF;
      RETURN CASE json_typeof(value)
        WHEN 'number' THEN CASE WHEN value::text ~ '^-?[0-9]+$' THEN value::text END
        WHEN 'string' THEN nullif(value #>> '{}', '')
      END;
    END
  $$`

/** How long a call and its end are matched, in milliseconds. */
const lifetime = String(callLifetime)

/**
 * Follows the rules of core's `CallMark` for calls and ends that are about to be stored, given as one array per column.
 * Cancels the active deliveries of the calls that end, and informs all processes. Returns, in the given order, whether
 * each call has ended. Another transaction that stores a call or an end with the same id waits until this one ends, but
 * not for long: if a call and its end are then stored at the same time, the call may still be sent.
 */
const noteCalls = `CREATE OR REPLACE FUNCTION note_calls(buildings bigint[], ids text[], ends bigint[], times bigint[])
  RETURNS TABLE (has_ended boolean) LANGUAGE plpgsql VOLATILE ${settings} AS $$
    #variable_conflict use_column
    DECLARE
      found bigint[];
      key integer;
      deadline constant timestamptz := clock_timestamp() + interval '500 milliseconds';
    BEGIN
      -- A host's transaction may stay open, and must not hold up all other events of the publisher's transaction.
      FOR key IN SELECT DISTINCT hashtext(c.building || ' ' || c.id) AS hash
        FROM unnest(buildings, ids) AS c (building, id) ORDER BY hash LOOP
        WHILE NOT try_hold(${lockClasses.calls}, key) AND clock_timestamp() < deadline LOOP
          PERFORM pg_sleep(0.005);
        END LOOP;
      END LOOP;

      found := ARRAY(
        SELECT q.id FROM unnest(buildings, ids, ends, times) AS c (building, id, is_end, time)
        CROSS JOIN LATERAL (
          SELECT e.id, e.first_delivery, e.last_delivery FROM events_of AS o JOIN events AS e ON e.seq = o.event_seq
          WHERE o.scope_id = c.building AND o.scope_type = 'building' AND o.resource_type = 'call'
            AND o.created_at > c.time - ${lifetime} AND o.created_at < c.time + ${lifetime}
            AND call_id(e.data, 'id') = c.id
          OFFSET 0
        ) AS e
        CROSS JOIN LATERAL (
          SELECT q.id FROM queue AS q
          WHERE q.id BETWEEN e.first_delivery AND e.last_delivery AND q.event_id = e.id OFFSET 0
        ) AS q
        WHERE c.is_end = 1
      );
      IF cardinality(found) > 0 THEN
        PERFORM 1 FROM (SELECT q.id FROM queue AS q WHERE q.id = ANY(found) ORDER BY q.id FOR UPDATE) AS locked;
        WITH moved AS (
          DELETE FROM queue AS q WHERE q.id = ANY(found) AND coalesce(q.id > ${lastOf("q.integration_id")}, true)
          RETURNING *
        ),
        cancelled AS (
          INSERT INTO deliveries (id, event_id, integration_id, created_at, state, reason, attempts, early, lane, worker)
          SELECT id, event_id, integration_id, created_at, 'cancelled', 'call_ended', attempts, early, lane, worker FROM moved
        ),
        counted AS (
          INSERT INTO tallies (events, pending, delivering, retrying, delivered, exhausted, expired, cancelled, skipped)
          SELECT 0, -count(*) FILTER (WHERE state = 'pending'), -count(*) FILTER (WHERE state = 'delivering'),
            -count(*) FILTER (WHERE state = 'retrying'), 0, 0, 0, count(*), 0
          FROM moved HAVING count(*) > 0
        )
        SELECT ARRAY(SELECT DISTINCT integration_id FROM moved) INTO found;
        PERFORM wake(i.id::text) FROM unnest(found) AS i (id);
      END IF;

      RETURN QUERY SELECT c.is_end = 0 AND (
          EXISTS (
            SELECT 1 FROM unnest(buildings, ids, ends, times) AS o (building, id, is_end, time)
            WHERE o.is_end = 1 AND o.building = c.building AND o.id = c.id AND abs(o.time - c.time) < ${lifetime}
          ) OR EXISTS (
            SELECT 1 FROM events_of AS o JOIN events AS e ON e.seq = o.event_seq
            WHERE o.scope_id = c.building AND o.scope_type = 'building' AND o.resource_type = 'call_end'
              AND o.created_at > c.time - ${lifetime} AND o.created_at < c.time + ${lifetime}
              AND call_id(e.data, 'call_id') = c.id
          )
        )
        FROM unnest(buildings, ids, ends, times) WITH ORDINALITY AS c (building, id, is_end, time, place) ORDER BY c.place;
    END
  $$`

/** Condition for a valid name, like core's `ResourceType` and `Action`. */
const isName = (text: string) => `${text} ~ '^[a-z][a-z0-9_]{0,63}$'`

/** Whether bindings match, like core's `Matching`; null for text that doorhook has not written. */
const binds = `CREATE OR REPLACE FUNCTION binds(bindings text, type text, action text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
  DECLARE
    binding jsonb;
    is_bound boolean := false;
  BEGIN
    FOR binding IN SELECT jsonb_array_elements(binds.bindings::jsonb) LOOP
      IF NOT coalesce(jsonb_typeof(binding->'resource_type') = 'string' AND ${isName("binding->>'resource_type'")}
        AND jsonb_typeof(binding->'actions') = 'array', false) THEN
        RETURN NULL;
      END IF;
      IF EXISTS (
        SELECT 1 FROM jsonb_array_elements(binding->'actions') AS a (value)
        WHERE jsonb_typeof(a.value) <> 'string' OR NOT ${isName("a.value #>> '{}'")}
      ) THEN
        RETURN NULL;
      END IF;
      is_bound := is_bound OR (binding->>'resource_type' = binds.type AND binding->'actions' ? binds.action);
    END LOOP;
    RETURN is_bound;
  EXCEPTION WHEN data_exception THEN
    RETURN NULL;
  END
$$`

export const publishFunctions: ReadonlyArray<string> = [
  isId,
  makeEventId,
  binds,

  // PostgreSQL can't read members of JSON with an escape that its `text` can't represent: NUL, or half of a surrogate
  // pair. Such escapes are replaced before reading, and restored in the data.
  `CREATE OR REPLACE FUNCTION can_look_into(event json) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
      PERFORM event->'data';
      RETURN true;
    EXCEPTION WHEN untranslatable_character OR invalid_text_representation THEN
      RETURN false;
    END
  $$`,

  callId,
  noteCalls,
  publish,

  ...["json", "jsonb"].map(
    (
      type
    ) => `CREATE OR REPLACE FUNCTION publish(event ${type}, now bigint DEFAULT ${nowInMillis}, OUT id text, OUT deliveries integer)
      LANGUAGE sql VOLATILE ${settings} AS $$ SELECT * FROM publish(event::text, now) $$`
  ),
  ...["text", "json", "jsonb"].map((type) => `REVOKE ALL ON FUNCTION publish(${type}, bigint) FROM PUBLIC`)
]

/** Which rows are left alone, without a lock, and how other rows are changed. */
const replaced = {
  unless: "(t.actions, t.urgent, t.place) = (d.actions, d.urgent, d.place)",
  set: "actions = excluded.actions, urgent = excluded.urgent, place = excluded.place"
}
const extended = {
  unless: "t.actions @> d.actions",
  set: "actions = t.actions || ARRAY(SELECT a FROM unnest(excluded.actions) AS a WHERE a <> ALL(t.actions))"
}

/**
 * Writes the resource types that the function accepts. Removes no types: a host's transaction must not fail because a
 * worker or an older process does not declare its type. A process whose settings the workers may not have agreed on
 * only adds types and actions, and changes the priority of none. Writes rows in order of name, so that processes that
 * start at the same time don't deadlock.
 */
export const writeResourceTypes = (
  sql: SqlClient.SqlClient,
  types: ResourceTypeTable,
  { isAgreed }: { readonly isAgreed: boolean }
) => {
  const { set, unless } = isAgreed ? replaced : extended
  return Effect.asVoid(
    sql.unsafe(
      `INSERT INTO resource_types AS t (name, actions, urgent, place)
        SELECT d.name, d.actions, d.urgent, d.place
        FROM jsonb_to_recordset($1::jsonb) AS d (name text, actions text[], urgent boolean, place integer)
        WHERE NOT EXISTS (SELECT 1 FROM resource_types AS t WHERE t.name = d.name AND ${unless})
        ORDER BY d.name ON CONFLICT (name) DO UPDATE SET ${set}`,
      [JSON.stringify([...types].map(([name, { actions, urgent }], place) => ({ name, actions, urgent, place })))]
    )
  )
}
