/**
 * Which buildings and tenants a database has given to another one, or is receiving: its cells' moves, in order. The last
 * move that names a building decides where it is.
 */
import { Context, Option, Result, Schema } from "effect"
import { BuildingId } from "./Ids.ts"
import type { Scope } from "./Integration.ts"

/** First and last id of a range. */
const Range = Schema.Tuple([Schema.Int, Schema.Int])
export type Range = typeof Range.Type

/** Buildings, and the tenants that live in them. */
export const Selection = Schema.Struct({ buildings: Schema.Array(Range), tenants: Schema.Array(Range) })
export type Selection = typeof Selection.Type

export const BuildingMove = Schema.Struct({
  id: Schema.String,
  ...Selection.fields,
  way: Schema.Literals(["out", "in"]),
  /** Whether the move is complete in this database. */
  isDone: Schema.Boolean,
  /** Name of the other database. */
  other: Schema.String
})
export type BuildingMove = typeof BuildingMove.Type

/** Name of the setting that holds a database's moves. */
export const movesName = "building_moves"

const Moves = Schema.fromJsonString(Schema.Array(BuildingMove))
const decode = Schema.decodeUnknownOption(Moves)
export const encodeMoves = Schema.encodeSync(Moves)

/** Reads a database's moves; null for a damaged text. */
export const decodeMoves = (text: string | null): ReadonlyArray<BuildingMove> | null =>
  text === null ? [] : Option.getOrNull(decode(text))

export const isIn = (ranges: ReadonlyArray<Range>, id: number): boolean =>
  ranges.some(([first, last]) => first <= id && id <= last)

/**
 * Returns the move because of which a database does not serve a scope; null if it does. A building is not served from
 * the last step of the move that takes it away, and not before the end of the move that brings it.
 */
export const absenceOf = (moves: ReadonlyArray<BuildingMove>, { id, type }: Scope): BuildingMove | null => {
  const last = moves.findLast(({ buildings, tenants }) => isIn(type === "tenant" ? tenants : buildings, id))
  return type === "service" || last === undefined || (last.way === "in" && last.isDone) ? null : last
}

/** Returns one of these buildings that a database does not serve; null if it serves all. */
export const someAbsent = (moves: ReadonlyArray<BuildingMove>, buildings: ReadonlyArray<Range>): number | null => {
  // Only at these ids can the answer change.
  const edges = [...buildings, ...moves.flatMap((move) => move.buildings)].flatMap(([first, last]) => [first, last + 1])
  const isAbsent = (id: number): boolean =>
    isIn(buildings, id) && absenceOf(moves, { type: "building", id: BuildingId.make(id) }) !== null
  return edges.find(isAbsent) ?? null
}

/** Joins ranges that overlap or touch. Returns them in order. */
export const joinRanges = (ranges: Iterable<Range>): ReadonlyArray<Range> => {
  const joined: Array<[number, number]> = []
  for (const [first, end] of [...ranges].toSorted(([a], [b]) => a - b)) {
    const before = joined.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], end)
    else joined.push([first, end])
  }
  return joined
}

/** Joins ids to ranges. */
export const rangesOf = (ids: Iterable<number>): ReadonlyArray<Range> =>
  joinRanges([...ids].map((id): Range => [id, id]))

/** Writes ranges, like `1-500,700`. */
export const rangesText = (ranges: ReadonlyArray<Range>): string =>
  ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",")

/** Reads ids and ranges of ids, like `1-500,700`. Returns ranges in order, and what is wrong with a text. */
export const parseRanges = (text: string): Result.Result<ReadonlyArray<Range>, string> => {
  const ranges: Array<[number, number]> = []
  for (const part of text.split(",").map((each) => each.trim())) {
    const [, low, high = low] = /^([1-9]\d{0,15})(?:-([1-9]\d{0,15}))?$/.exec(part) ?? []
    const [first, last] = [Number(low), Number(high)]
    if (low === undefined || !Number.isSafeInteger(last) || first > last)
      return Result.fail(`${JSON.stringify(part)} is not an id or a range of ids like 1-500`)
    ranges.push([first, last])
  }
  return Result.succeed(joinRanges(ranges))
}

/** Finds the move because of which this process does not serve a scope; null if it serves the scope. */
export const Absence = Context.Reference<(scope: Scope) => BuildingMove | null>("@doorhook/core/model/Absence", {
  defaultValue: () => () => null
})

/** Buildings or tenants are being moved between databases. Nothing was changed; the call can be repeated after the move. */
export class BeingMoved extends Schema.TaggedError<BeingMoved>()("BeingMoved", { message: Schema.String }) {}

/** Another database serves the buildings or tenants. Nothing was changed. */
export class Misdirected extends Schema.TaggedError<Misdirected>()("Misdirected", { message: Schema.String }) {}

export type NotServed = BeingMoved | Misdirected

/** Explains why buildings or tenants are not served here. */
const absenceText = (type: Scope["type"], ids: ReadonlyArray<number>, { isDone, other, way }: BuildingMove): string => {
  const isOne = ids.length === 1
  const [named, it] = [`The ${isOne ? type : `${type}s`} ${rangesText(rangesOf(ids))}`, isOne ? "it" : "them"]
  if (isDone) return `${named} ${isOne ? "was" : "were"} moved to ${other}, which serves ${it} now.`
  const isMoving = `${named} ${isOne ? "is" : "are"} being moved`
  return way === "out"
    ? `${isMoving} to ${other}, which serves ${it} after the move. Try again in a few seconds.`
    : `${isMoving} here from ${other}, which serves ${it} until the end of the move.`
}

/** Returns the refusal that names all scopes which this process does not serve; null if it serves all. */
export const refusalOf = (absence: (typeof Absence)["Service"], scopes: Iterable<Scope>): NotServed | null => {
  const absent = new Map<BuildingMove, Map<Scope["type"], Set<number>>>()
  for (const scope of scopes) {
    const move = absence(scope)
    if (move === null) continue
    const ofMove = absent.get(move) ?? new Map<Scope["type"], Set<number>>()
    absent.set(move, ofMove.set(scope.type, (ofMove.get(scope.type) ?? new Set()).add(scope.id)))
  }
  if (absent.size === 0) return null
  const message = [...absent]
    .flatMap(([move, ofMove]) => [...ofMove].map(([type, ids]) => absenceText(type, [...ids], move)))
    .join(" ")
  // Repeating a call does not help if one of its buildings has left.
  const isLasting = [...absent.keys()].some(({ isDone }) => isDone)
  return isLasting ? new Misdirected({ message }) : new BeingMoved({ message })
}
