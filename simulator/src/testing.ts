/** Code shared by runs on virtual time and the deterministic simulation of the delivery engine. */
export { Process } from "./clock/Process.ts"
export { signatureOf } from "./clock/SeededCrypto.ts"
export { startOfTime, VirtualTime } from "./clock/VirtualTime.ts"
export { child, Rng, root } from "./random/Substream.ts"
export type { Substream } from "./random/Substream.ts"
export { storesOf } from "./run/EngineLayer.ts"
export type { EnginePorts, EngineServices, Stores } from "./run/EngineLayer.ts"
export { Engine, World } from "./virtual/World.ts"
