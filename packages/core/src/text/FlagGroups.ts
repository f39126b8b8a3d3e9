/**
 * Headings for the flags of a command in its `--help`.
 */
import { Context } from "effect"

/** Command annotation that maps the first flag of each group (without its dashes) to the group's heading. */
export const FlagGroups: Context.Reference<Readonly<Record<string, string>>> = Context.Reference(
  "@doorhook/core/FlagGroups",
  { defaultValue: () => ({}) }
)
