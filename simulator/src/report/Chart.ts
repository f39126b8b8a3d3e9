/**
 * Charts over time as inline SVG. Shapes stretch with the page; words stay HTML beside them, so that they keep their size
 * on a phone.
 */
import { Html } from "@doorhook/core"
import { html } from "./Markup.ts"
import type { Scale } from "./Scale.ts"

/** A value for each interval; null where there is none. */
interface Line {
  readonly name: string
  readonly color: "one" | "two" | "three"
  readonly fill: boolean
  readonly values: ReadonlyArray<number | null>
}

export interface ChartOptions {
  readonly title: string
  /** What is to be seen, in words: for those who do not see it. */
  readonly description: string
  readonly lines: ReadonlyArray<Line>
  readonly scale: Scale
  readonly markText: (value: number) => string
  /** A value that has a meaning of its own. */
  readonly limit: { readonly value: number; readonly name: string } | null
  /** Places from 0 to 100, and their names. */
  readonly times: ReadonlyArray<{ readonly at: number; readonly name: string }>
  /** Parts of the time that are set off, from 0 to 100. */
  readonly bands: ReadonlyArray<{ readonly from: number; readonly to: number }>
}

const width = 1_000
const height = 300

const place = (value: number): string => value.toFixed(1).replace(/\.0$/, "")

/** Runs of values, each as points from left to right. */
const runsOf = ({ values }: Line, scale: Scale): ReadonlyArray<ReadonlyArray<readonly [x: number, y: number]>> => {
  const runs: Array<Array<readonly [number, number]>> = [[]]
  const step = width / values.length
  values.forEach((value, at) => {
    if (value === null) runs.push([])
    else runs.at(-1)?.push([(at + 0.5) * step, height - (Math.min(100, scale.of(value)) / 100) * height])
  })
  return runs.filter((run) => run.length > 0)
}

const pathOf = (run: ReadonlyArray<readonly [number, number]>, halfStep: number): string => {
  const points =
    run.length > 1 ? run : run.flatMap(([x, y]) => [[x - halfStep, y] as const, [x + halfStep, y] as const])
  return `M${points.map(([x, y]) => `${place(x)} ${place(y)}`).join("L")}`
}

const shapesOf = (line: Line, scale: Scale): Html.Html => {
  const halfStep = width / line.values.length / 2
  const runs = runsOf(line, scale)
  const strokes = runs.map((run) => pathOf(run, halfStep)).join("")
  const areas = runs
    .map((run) => {
      const [left = 0] = run[0] ?? []
      const [right = 0] = run.at(-1) ?? []
      const [from, to] = run.length > 1 ? [left, right] : [left - halfStep, right + halfStep]
      return `${pathOf(run, halfStep)}L${place(to)} ${height}L${place(from)} ${height}Z`
    })
    .join("")
  return html`${line.fill ? html`<path class="area ${line.color}" d="${areas}" />` : null}<path
      class="line ${line.color}"
      d="${strokes}"
      vector-effect="non-scaling-stroke"
    />`
}

const swatches = (lines: ReadonlyArray<Line>): Html.Html =>
  html`<ul class="legend">
    ${lines.map(({ color, name }) => html`<li><span class="swatch ${color}"></span>${name}</li>`)}
  </ul>`

export const chart = (options: ChartOptions): Html.Html => {
  const { bands, description, limit, lines, markText, scale, times, title } = options
  return html`<figure class="chart">
    <figcaption>
      <h3>${title}</h3>
      ${swatches(lines)}
    </figcaption>
    <div class="plot">
      <div class="marks" aria-hidden="true">
        ${scale.marks.map((mark) => html`<span style="bottom:${place(scale.of(mark))}%">${markText(mark)}</span>`)}
      </div>
      <div class="canvas">
        <svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${description}">
          ${bands.map(
            ({ from, to }) =>
              html`<rect
                class="band"
                x="${place(from * 10)}"
                width="${place((to - from) * 10)}"
                y="0"
                height="${height}"
              />`
          )}
          ${scale.marks.map((mark) => {
            const y = place(height - (scale.of(mark) / 100) * height)
            return html`<line
              class="grid"
              x1="0"
              x2="${width}"
              y1="${y}"
              y2="${y}"
              vector-effect="non-scaling-stroke"
            />`
          })}
          ${lines.map((line) => shapesOf(line, scale))}
          ${
            limit === null
              ? null
              : Html.trusted(
                  `<line class="limit" x1="0" x2="${width}" y1="${place(height - (scale.of(limit.value) / 100) * height)}" y2="${place(height - (scale.of(limit.value) / 100) * height)}" vector-effect="non-scaling-stroke"/>`
                )
          }
        </svg>
        ${
          limit === null
            ? null
            : html`<span class="limit-name" style="bottom:${place(scale.of(limit.value))}%">${limit.name}</span>`
        }
        <div class="times" aria-hidden="true">
          ${times.map(({ at, name }) => html`<span style="left:${place(at)}%">${name}</span>`)}
        </div>
      </div>
    </div>
  </figure>`
}
