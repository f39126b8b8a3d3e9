/**
 * A table, which scrolls by itself where the page is too narrow for it.
 */
import type { Html } from "@doorhook/core"
import { html } from "../Markup.ts"

/** What a column is called, and the classes of its head: those of its cells. */
export type Column = readonly [name: string, classes?: string]

export const table = (columns: ReadonlyArray<Column>, rows: ReadonlyArray<Html.Html>): Html.Html =>
  html`<div class="scroll">
    <table>
      <thead>
        <tr>
          ${columns.map(([name, classes = ""]) => html`<th scope="col" class="${classes}">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`
