/** The scenarios that come with doorhook. Their files can also be used with `--scenario`. */
import { Option, Schema } from "effect"
import { demo } from "./Demo.ts"
import controllerOfflineFlush from "./presets/controller-offline-flush.json" with { type: "json" }
import courierStorm from "./presets/courier-storm.json" with { type: "json" }
import designPeak from "./presets/design-peak.json" with { type: "json" }
import holidayPeak from "./presets/holiday-peak.json" with { type: "json" }
import mixedUse from "./presets/mixed-use.json" with { type: "json" }
import nightWatch from "./presets/night-watch.json" with { type: "json" }
import office1000 from "./presets/office-1000.json" with { type: "json" }
import quiet from "./presets/quiet.json" with { type: "json" }
import residential200 from "./presets/residential-200.json" with { type: "json" }
import { resolve } from "./Resolve.ts"
import type { Scenario } from "./Scenario.ts"
import { ScenarioDocument } from "./ScenarioDocument.ts"

const documents = new Map<string, unknown>(
  [
    residential200,
    office1000,
    mixedUse,
    holidayPeak,
    courierStorm,
    controllerOfflineFlush,
    quiet,
    nightWatch,
    designPeak
  ].map((document) => [document.name, document])
)

export const presetNames: ReadonlyArray<string> = [...documents.keys(), demo.name]

/** Builds the preset of this name with `times` copies of its buildings. `demo` always has its two buildings. */
export const preset = (name: string, times = 1): Option.Option<Scenario> =>
  name === demo.name
    ? Option.some(demo)
    : Option.map(Option.fromUndefinedOr(documents.get(name)), (document) =>
        resolve(Schema.decodeUnknownSync(ScenarioDocument)(document), times)
      )
