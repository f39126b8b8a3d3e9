/**
 * Charts over time as inline SVG. Shapes stretch with the page. Text is HTML outside the SVG, so that it keeps its size
 * on a phone.
 */
import { Html } from "@doorhook/core"
import { clockText, duration, grouped, wallAt } from "../results/Format.ts"
import type { RunReport } from "../results/RunReport.ts"
import { dayMillis as day, minute } from "../world/LocalTime.ts"

const html = Html.template

/** A line with one value per interval; null if an interval has none. */
interface Line {
  readonly name: string
  readonly color: "one" | "two" | "three"
  readonly fill?: boolean
  readonly values: ReadonlyArray<number | null>
}

interface Scale {
  /** Returns the height of a value, in percent from the bottom. */
  readonly of: (value: number) => number
  readonly marks: ReadonlyArray<number>
}

export interface ChartOptions {
  readonly title: string
  /** Description of what the chart shows. */
  readonly description: string
  readonly lines: ReadonlyArray<Line>
  /** Whether values are durations, on a logarithmic scale, rather than counts. */
  readonly isTime?: boolean
  /** A value to mark in the chart, with its meaning. */
  readonly limit?: { readonly value: number; readonly name: string } | null
}

const width = 1_000
const height = 300

/** Returns the lowest and the highest value of some lines. */
const extremes = (lines: ReadonlyArray<Line>) => {
  const all = lines.flatMap(({ values }) => values.flatMap((value) => value ?? []))
  return { least: Math.min(...all), most: Math.max(0, ...all) }
}

/** Returns a scale from 0 to a round number above the largest value. */
const linear = (most: number): Scale => {
  const rough = Math.max(most, 1) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? power)
  const top = Math.ceil(Math.max(most, 1) / step) * step
  return {
    of: (value) => (value / top) * 100,
    marks: Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step)
  }
}

/** Returns a logarithmic scale from 1 or 10 to a power of ten above the largest value. */
const logarithmic = (least: number, most: number): Scale => {
  const low = least < 10 ? 0 : 1
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(most, 1))))
  return {
    of: (value) => ((Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)) * 100,
    marks: Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at))
  }
}

const steps = [
  ...[1, 2, 5, 10, 20, 30].map((count) => count * 1_000),
  ...[1, 2, 5, 10, 20, 30].map((count) => count * minute),
  ...[1, 2, 3, 4, 6, 12].map((count) => count * 60 * minute),
  ...[1, 2, 5, 7, 14, 30, 60, 120].map((count) => count * day)
]

/** Maximum number of steps on an axis. */
const mostSteps = 6.5

/** Returns at most seven round times on an axis of this length. The axis begins `offset` after midnight. */
export const timeMarks = (length: number, offset: number): ReadonlyArray<number> => {
  const step = steps.find((size) => length / size <= mostSteps) ?? Math.ceil(length / mostSteps / day) * day
  const first = Math.ceil(offset / step) * step - offset
  return Array.from({ length: Math.max(0, Math.floor((length - first) / step) + 1) }, (_, at) => first + at * step)
}

/** Length up to which an axis shows the time since the start: times of day to the minute would repeat. */
const shortest = 10 * minute

const lengthOf = ({ interval, series }: RunReport): number => Math.max(1, series.length) * interval

/**
 * Returns time labels and their positions on the axis, from 0 to 100. The labels are times of day if the run kept a
 * schedule.
 */
export const timesOf = (report: RunReport): ReadonlyArray<{ readonly at: number; readonly name: string }> => {
  const length = lengthOf(report)
  const isRelative = report.speed === null || length <= shortest
  const offset = isRelative ? 0 : wallAt(report, 0) % day
  return timeMarks(length, offset).flatMap((time) => {
    // A clock change during the run moves all later labels.
    const shift = isRelative ? 0 : wallAt(report, time) - wallAt(report, 0) - time
    const at = time - shift
    if (at < 0 || at > length) return []
    if (isRelative) return [{ at: (at / length) * 100, name: time === 0 ? "start" : duration(time) }]
    const isLong = length > 2 * day
    const name = clockText({ ...report, duration: isLong ? length : 0 }, at)
    return [
      {
        at: (at / length) * 100,
        name: isLong && name.includes(", 00:00") ? (name.split(",")[0] ?? name) : name.replace(/^day \d+, /, "")
      }
    ]
  })
}

/**
 * Returns the times at which receivers were down, as positions from 0 to 100. Empty for buildings in several time
 * zones, because they have no common time of day.
 */
export const bandsOf = (report: RunReport): ReadonlyArray<{ readonly from: number; readonly to: number }> => {
  if (report.speed === null || report.time_zone === null) return []
  const length = lengthOf(report)
  const begins = wallAt(report, 0)
  const midnight = Math.floor(begins / day)
  const windows = new Map(
    report.integration_lines.flatMap(({ down }) => down.map((one) => [`${one.from} ${one.to} ${one.on}`, one] as const))
  )
  const after = (wall: number) => {
    const time = wall - begins
    return time - (wallAt(report, time) - begins - time)
  }
  // Starts on the day before, because a down time can span midnight.
  return [...windows.values()].flatMap(({ from, on, to }) =>
    Array.from({ length: Math.ceil(length / day) + 2 }, (_, nth) => (midnight + nth - 1) * day).flatMap((start) => {
      if (on !== null && start !== Date.parse(on)) return []
      const band = {
        from: Math.max(0, (after(start + from * minute) / length) * 100),
        to: Math.min(100, (after(start + to * minute + (to <= from ? day : 0)) / length) * 100)
      }
      return band.to > band.from ? [band] : []
    })
  )
}

const place = (value: number): string => value.toFixed(1).replace(/\.0$/, "")

/**
 * Splits a line at missing values. Returns the points of each part from left to right. A single value becomes a line as
 * wide as its interval.
 */
const runsOf = ({ values }: Line, scale: Scale) => {
  const step = width / values.length
  const runs: Array<Array<readonly [x: number, y: number]>> = [[]]
  values.forEach((value, at) => {
    if (value === null) runs.push([])
    else runs.at(-1)?.push([(at + 0.5) * step, height - (Math.min(100, scale.of(value)) / 100) * height])
  })
  return runs.flatMap((run) => {
    const [only] = run
    if (only === undefined) return []
    return run.length > 1 ? [run] : [[[only[0] - step / 2, only[1]] as const, [only[0] + step / 2, only[1]] as const]]
  })
}

const shapesOf = (line: Line, scale: Scale): Html.Html => {
  const paths = runsOf(line, scale).map((run) => {
    const path = `M${run.map(([x, y]) => `${place(x)} ${place(y)}`).join("L")}`
    const [left = 0] = run[0] ?? []
    const [right = 0] = run.at(-1) ?? []
    return { path, area: `${path}L${place(right)} ${height}L${place(left)} ${height}Z` }
  })
  const area =
    line.fill === true ? html`<path class="area ${line.color}" d="${paths.map((own) => own.area).join("")}" />` : null
  return html`${area}<path
      class="line ${line.color}"
      d="${paths.map(({ path }) => path).join("")}"
      vector-effect="non-scaling-stroke"
    />`
}

const levelLine = (kind: "grid" | "limit", percent: number): Html.Html => {
  const y = place(height - (percent / 100) * height)
  return html`<line class="${kind}" x1="0" x2="${width}" y1="${y}" y2="${y}" vector-effect="non-scaling-stroke" />`
}

export const chart = (report: RunReport, options: ChartOptions): Html.Html => {
  const { description, isTime = false, limit = null, lines, title } = options
  const { least, most: highest } = extremes(lines)
  const most = Math.max(highest, (limit?.value ?? 0) * 1.5)
  const scale = isTime ? logarithmic(least, most) : linear(most)
  const markText = isTime ? duration : grouped
  return html`<figure class="chart">
    <figcaption>
      <h3>${title}</h3>
      <ul class="legend">
        ${lines.map(({ color, name }) => html`<li><span class="swatch ${color}"></span>${name}</li>`)}
      </ul>
    </figcaption>
    <div class="plot">
      <div class="marks" aria-hidden="true">
        ${scale.marks.map((mark) => html`<span style="bottom:${place(scale.of(mark))}%">${markText(mark)}</span>`)}
      </div>
      <div class="canvas">
        <svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${description}">
          ${bandsOf(report).map(
            ({ from, to }) =>
              html`<rect
                class="band"
                x="${place(from * 10)}"
                width="${place((to - from) * 10)}"
                y="0"
                height="${height}"
              />`
          )}
          ${scale.marks.map((mark) => levelLine("grid", scale.of(mark)))} ${lines.map((line) => shapesOf(line, scale))}
          ${limit === null ? null : levelLine("limit", scale.of(limit.value))}
        </svg>
        ${limit === null ? null : html`<span class="limit-name" style="bottom:${place(scale.of(limit.value))}%">${limit.name}</span>`}
        <div class="times" aria-hidden="true">
          ${timesOf(report).map(({ at, name }) => html`<span style="left:${place(at)}%">${name}</span>`)}
        </div>
      </div>
    </div>
  </figure>`
}
