/**
 * Triggers that refuse new rows for buildings that have left, from a process or a host's transaction that has not noticed
 * it. They have the moves in their text, because a host's transaction can read settings as they were before the move.
 */
import type { BuildingMoves } from "@doorhook/core"
import { movedState, movingState } from "../StoreFailure.ts"
import { quoted } from "./TransactionSettings.ts"

type Moves = ReadonlyArray<BuildingMoves.BuildingMove>

/**
 * The moves as rows: the kind and the first and last id of a range, the place of the move, the SQLSTATE of the refusal, and
 * the name of the other database. Without a state, the move has brought the range.
 */
const rowsOf = (moves: Moves): string =>
  [
    "('', 0::bigint, 0::bigint, 0, NULL, '')",
    ...moves.flatMap((move, place) => {
      const state = move.way === "in" ? "NULL" : quoted(move.isDone ? movedState : movingState)
      const rows = (kind: string, ranges: ReadonlyArray<BuildingMoves.Range>) =>
        ranges.map(([first, last]) => `('${kind}', ${first}, ${last}, ${place}, ${state}, ${quoted(move.other)})`)
      return [...rows("building", move.buildings), ...rows("tenant", move.tenants)]
    })
  ].join(", ")

const refusals = [
  { name: "refuse_events", table: "events", scope: "'building' AS kind, building_id AS id" },
  { name: "refuse_integrations", table: "integrations", scope: "scope_type AS kind, scope_id AS id" }
]

/** The functions of the triggers. They are replaced whenever the moves change. The last move of an id counts. */
export const refusalsOf = (moves: Moves): ReadonlyArray<string> =>
  refusals.map(
    ({ name, scope }) => `CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $refusal$
      DECLARE
        refused record;
      BEGIN
        SELECT a.kind, a.id, move.state, move.other INTO refused
          FROM (SELECT DISTINCT ${scope} FROM added) AS a CROSS JOIN LATERAL (
            SELECT m.state, m.other FROM (VALUES ${rowsOf(moves)}) AS m (kind, first, last, place, state, other)
            WHERE m.kind = a.kind AND a.id BETWEEN m.first AND m.last ORDER BY m.place DESC LIMIT 1
          ) AS move
          WHERE move.state IS NOT NULL LIMIT 1;
        IF FOUND THEN
          RAISE EXCEPTION USING ERRCODE = refused.state, MESSAGE = CASE refused.state
            WHEN '${movedState}' THEN format('The %s %s was moved to %s, which serves it now.',
              refused.kind, refused.id, refused.other)
            ELSE format('The %s %s is being moved to %s, which serves it after the move. Try again in a few seconds.',
              refused.kind, refused.id, refused.other) END;
        END IF;
        RETURN NULL;
      END
    $refusal$`
  )

/** Refuses rows for buildings that have left, if any have. */
export const keepLeft = (moves: Moves): ReadonlyArray<string> =>
  hasLeft(moves)
    ? [
        ...refusalsOf(moves),
        ...refusals.map(
          ({ name, table }) => `CREATE OR REPLACE TRIGGER ${name} AFTER INSERT ON ${table}
            REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`
        )
      ]
    : []

const hasLeft = (moves: Moves): boolean => moves.some(({ way }) => way === "out")

/** The same after a failed move, whose triggers are no longer needed if nothing else has left. */
export const keepOthersLeft = (moves: Moves): ReadonlyArray<string> =>
  hasLeft(moves) ? keepLeft(moves) : refusals.map(({ name, table }) => `DROP TRIGGER IF EXISTS ${name} ON ${table}`)
