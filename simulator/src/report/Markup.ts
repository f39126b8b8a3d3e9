/**
 * The template of the report, by the name under which the code formatter lays it out.
 */
import { Html } from "@doorhook/core"

export const html = Html.template
