/**
 * Prints the SHA-256 of four days of every preset, including a clock change. `plans.long.test.ts` runs this with several
 * Node.js versions.
 */
import { createHash } from "node:crypto"
import { Option } from "effect"
import { lineChunks } from "../src/plan/Plan.ts"
import { preset, presetNames } from "../src/scenario/Presets.ts"
import { LocalTime } from "../src/world/LocalTime.ts"

const start = LocalTime.make(Date.UTC(2026, 2, 2))
const hash = createHash("sha256")
for (const name of presetNames) {
  const scenario = Option.getOrThrow(preset(name))
  for (const { bytes } of lineChunks(scenario, { seed: 1, start, duration: 3 * 86_400_000 })) hash.update(bytes)
  // The day on which clocks go forward.
  const spring = LocalTime.make(Date.UTC(2026, 2, 29))
  for (const { bytes } of lineChunks(scenario, { seed: 1, start: spring, duration: 86_400_000 })) hash.update(bytes)
}
process.stdout.write(hash.digest("hex"))
