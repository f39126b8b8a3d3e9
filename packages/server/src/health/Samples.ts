/**
 * Values that are measured at the moment they are asked for, as Prometheus text. They are not kept in Effect's registry
 * of metrics: that would go on showing a value that can't be measured any more, or of a label that is gone.
 */

/** One metric with its values. */
export interface Family {
  readonly name: string
  /** What it is, and its unit, in one line. */
  readonly help: string
  readonly samples: ReadonlyArray<Sample>
}

/** A value with the labels that tell it from the others, whose values need no escaping. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

const lineOf = (name: string, { labels = {}, value }: Sample): string => {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`
}

/** Gauges in the text exposition format 0.0.4; those without a value are left out. */
export const gauges = (families: ReadonlyArray<Family>): string =>
  families
    .filter(({ samples }) => samples.length > 0)
    .map(({ help, name, samples }) => {
      const lines = samples.map((sample) => lineOf(name, sample))
      return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join("")}`
    })
    .join("")
