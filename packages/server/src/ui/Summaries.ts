/**
 * One line about an event, from its data, like "Front door opened by app, Ann, 16:32". It stands for a delivery in
 * lists, dialogs and titles.
 */
import type { ResourceType, ResourceTypeTable } from "@doorhook/core"
import { fillSummary, labelOf, shownText } from "@doorhook/core"
import { Option, Predicate, Result, Schema } from "effect"
import type { Place } from "./Labels.ts"
import type { Language } from "./Texts.ts"

/** Longest line, in characters. */
const mostChars = 160

/** What a line is made from. `data` may be cut off: the line then names only the type. */
export interface Summarized {
  readonly resource_type: ResourceType | null
  readonly action: string
  readonly data: string
  readonly created_at: number
}

/** The declared types, and what to do if the function of one fails. */
export interface Summarizer {
  readonly types: ResourceTypeTable
  readonly onFailure: (type: ResourceType | null, cause: unknown) => void
}

type Data = Readonly<Record<string, unknown>>

const parse = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

const textOf = (data: Data, name: string): string => {
  const value = data[name]
  return Predicate.isString(value) || Predicate.isNumber(value) ? String(value) : ""
}

const memberOf = (data: Data, name: string): Data => {
  const value = data[name]
  return Predicate.isReadonlyObject(value) ? value : {}
}

/** Returns the title of a resource type. */
export const typeName = ({ t }: Language, types: ResourceTypeTable, type: ResourceType | null): string => {
  if (type === null) return t("type_unknown")
  const title = types.get(type)?.title
  if (title !== undefined) return title
  return type === "call" || type === "access_log" ? t(`type_${type}`) : labelOf(type)
}

const summaryOfLog = ({ t }: Language, data: Data, doors: Place["doors"]): string => {
  const id = textOf(data, "access_point")
  const status = textOf(data, "release_status")
  const values = {
    door: doors.get(Number(id)) ?? t("door", { id }),
    method: textOf(data, "entry_method"),
    name: textOf(data, "name"),
    status
  }
  return status === "Unlocked" ? t("summary_opened", values) : t("summary_not_opened", values)
}

const summaryOfCall = ({ t }: Language, data: Data): string => {
  const unit = textOf(memberOf(data, "unit"), "label")
  const panel = textOf(memberOf(data, "panel"), "name")
  const kind = textOf(data, "notification_type") === "delivery" ? "summary_delivery" : "summary_visitor"
  if (panel === "") return t("summary_id", { what: t(`${kind}_unplaced`), id: unit === "" ? textOf(data, "id") : unit })
  return unit === "" ? t(`${kind}_anywhere`, { panel }) : t(kind, { panel, unit })
}

/** Returns the line of a declared or described type: by its own summary, or title, action and id. */
const summaryOfDeclared = (
  language: Language,
  { onFailure, types }: Summarizer,
  of: Summarized,
  data: Data
): string => {
  const definition = of.resource_type === null ? undefined : types.get(of.resource_type)
  const own = definition?.summary
  // A host's function that fails for some data must not break the page that shows why a delivery failed.
  const line = Predicate.isFunction(own)
    ? Result.getOrElse(
        Result.try((): unknown => own(data, of.action)),
        (cause) => {
          onFailure(of.resource_type, cause)
          return ""
        }
      )
    : fillSummary(own ?? "", data)
  if (Predicate.isString(line) && line.trim() !== "") return line
  const title = typeName(language, types, of.resource_type)
  const action = (definition?.actions.length ?? 1) > 1 ? ` ${labelOf(of.action).toLowerCase()}` : ""
  const id = textOf(data, "id")
  return id === "" ? `${title}${action}` : language.t("summary_id", { what: `${title}${action}`, id })
}

/** Returns the line about an event. `place` is where it happened. */
export const summaryOf = (
  language: Language,
  summarizer: Summarizer,
  of: Summarized,
  doors: Place["doors"]
): string => {
  const data = Option.getOrNull(parse(of.data))
  const title = typeName(language, summarizer.types, of.resource_type)
  const logged = data === null ? Number.NaN : Date.parse(textOf(data, "logged_at"))
  const time = language.clock(Number.isNaN(logged) ? of.created_at : logged)
  const line = (): string => {
    if (data === null) return title
    const isOwn = of.resource_type !== null && summarizer.types.get(of.resource_type)?.summary !== undefined
    if (isOwn) return summaryOfDeclared(language, summarizer, of, data)
    if (of.resource_type === "access_log") return summaryOfLog(language, data, doors)
    return of.resource_type === "call"
      ? summaryOfCall(language, data)
      : summaryOfDeclared(language, summarizer, of, data)
  }
  // Removes separators around what the data doesn't have.
  const isTest = data !== null && data["test"] === true
  const tidy = (isTest ? language.t("summary_test", { what: line() }) : line())
    .replaceAll(/\s+/g, " ")
    .replaceAll(/(?:, )+(?=, |$)/g, "")
  return `${shownText(tidy, mostChars)}, ${time}`
}
