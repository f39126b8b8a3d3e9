/**
 * The command line of a run, for who wants it again.
 */
import { Option } from "effect"
import type { RunTexts } from "./RunFlags.ts"

/** The command line that says the same, in one line, with another seed where one is given. */
export const commandLine = (texts: RunTexts, seed = texts.seed): string => {
  const words: Array<string> = ["npx doorhook simulate run"]
  const quoted = (value: string) => (/^[\w.,:/=@%+-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`)
  const add = (flag: string, value: string) => words.push(`--${flag}`, quoted(value))
  const some = (flag: string, value: Option.Option<string>) => (Option.isSome(value) ? add(flag, value.value) : 0)
  const unless = (flag: string, value: string, usual: string) => (value === usual ? 0 : add(flag, value))
  if (texts.virtual) words.push("--virtual")
  some("to", texts.to)
  some("to-receiver", texts.toReceiver)
  some("preset", texts.preset)
  some("scenario", texts.scenario)
  add("seed", seed)
  add("start", texts.start)
  add("duration", texts.duration)
  unless("rate-scale", texts.rateScale, "1")
  unless("buildings", texts.buildings, "1")
  unless("building-integrations", texts.buildingIntegrations, "1")
  unless("tenant-integrations", texts.tenantIntegrations, "2")
  some("speed", texts.speed)
  if (texts.asFastAsPossible) words.push("--as-fast-as-possible")
  unless("max-inflight", texts.maxInFlight, "1")
  unless("dup-rate", texts.dupRate, "0")
  unless("reorder", texts.reorder, "0")
  unless("late", texts.late, "0")
  for (const receiver of texts.receiver) add("receiver", receiver)
  for (const retry of texts.retry) add("retry", retry)
  unless("ack-timeout", texts.ackTimeout, "5s")
  some("crash-every", texts.crashEvery)
  some("delete-every", texts.deleteEvery)
  unless("workers", texts.workers, "1")
  unless("database", texts.database, "memory")
  unless("drain", texts.drain, "4d")
  for (const slo of texts.slo) add("slo", slo)
  return words.join(" ")
}
