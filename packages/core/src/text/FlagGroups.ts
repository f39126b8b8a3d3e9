/**
 * Headings for the flags of a command in its `--help`.
 */
import { Context } from "effect"

/** An annotation of a command: for each group, its heading by the name of its first flag without dashes. */
export const FlagGroups: Context.Reference<Readonly<Record<string, string>>> = Context.Reference(
  "@doorhook/core/FlagGroups",
  { defaultValue: () => ({}) }
)
