/**
 * Numbers and times as people say them.
 */
const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** 1234567 as `1,234,567`, in every locale. */
export const grouped = (count: number): string => `${Math.round(count)}`.replaceAll(/\B(?=(\d{3})+$)/g, ",")

const decimals = (value: number): string => (value < 10 ? value.toFixed(1).replace(/\.0$/, "") : `${Math.round(value)}`)

/** A duration, to two places that matter: `43 ms`, `2.4 s`, `2 h 14 min`, `3 days`. */
export const duration = (millis: number): string => {
  if (millis < second) return `${Math.round(millis)} ms`
  if (millis < minute) return `${decimals(millis / second)} s`
  if (millis < hour) return `${decimals(millis / minute)} min`
  if (millis < 2 * day) {
    const hours = Math.floor(millis / hour)
    const minutes = Math.round((millis - hours * hour) / minute)
    return minutes === 0 ? `${hours} h` : minutes === 60 ? `${hours + 1} h` : `${hours} h ${minutes} min`
  }
  return `${decimals(millis / day)} days`
}

export const bytes = (count: number): string => {
  if (count < 1_000) return `${Math.round(count)} bytes`
  if (count < 1_000_000) return `${decimals(count / 1_000)} kB`
  return count < 1_000_000_000 ? `${decimals(count / 1_000_000)} MB` : `${decimals(count / 1_000_000_000)} GB`
}

/** A part of 1, with as many places as it takes not to say 100 % of what is less. */
export const percent = (share: number): string => {
  if (share === 1 || share === 0) return `${share * 100} %`
  const text = (share * 100).toFixed(share > 0.999 ? 3 : share > 0.99 || share < 0.01 ? 2 : 1)
  return Number(text) === 100 ? "> 99.99 %" : `${text} %`
}

/** A time since midnight of the first day: `day 2, 15:04` in runs of days, `15:04` in one. */
export const momentOf = (at: number, long: boolean): string => {
  const two = (value: number) => `${Math.floor(value)}`.padStart(2, "0")
  const clock = `${two((at % day) / hour)}:${two((at % hour) / minute)}`
  return long ? `day ${Math.floor(at / day) + 1}, ${clock}` : clock
}

/** `one event`, `2 events`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  count === 1 ? `one ${one}` : `${grouped(count)} ${many}`
