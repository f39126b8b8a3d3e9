/**
 * Adds a table of the resource types that `doorhook.publish` accepts, with their actions and urgency. Each process that
 * opens the database writes its own types.
 */
import { builtInTable } from "@doorhook/core"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { publishText, writeResourceTypes } from "./PublishFunction.ts"

const resourceTypes = `CREATE TABLE resource_types (
  name text PRIMARY KEY,
  actions text[] NOT NULL,
  urgent boolean NOT NULL,
  -- The order that messages list them in.
  place integer NOT NULL
)`

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

export const resourceTypesTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(resourceTypes)
  yield* writeResourceTypes(sql, builtInTable, { isAgreed: true })
  yield* sql.unsafe(binds).unprepared
  const isBound = "binds(i.bindings, type, action)"
  yield* sql.unsafe(publishText({ create: "CREATE OR REPLACE FUNCTION", kept: "FOR KEY SHARE OF i", isBound }))
  yield* sql.unsafe("DROP FUNCTION IF EXISTS binds(text, text)")
})
