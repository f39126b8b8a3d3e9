/**
 * Settings in memory.
 */
import { Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { SettingStore } from "../ports/SettingStore.ts"

const make = Effect.sync(() => {
  const values = new Map<string, string>()
  const secrets = new Map<string, Redacted.Redacted>()
  return SettingStore.of({
    getOrCreate: (name, candidate) =>
      Effect.sync(() => {
        const value = values.get(name)
        if (value !== undefined) return { value, created: false }
        values.set(name, candidate)
        return { value: candidate, created: true }
      }),
    getOrCreateSecret: (name, candidate) =>
      Effect.sync(() => {
        const secret = secrets.get(name) ?? candidate
        secrets.set(name, secret)
        return secret
      }),
    replaceSecret: (name, secret) => Effect.sync(() => void secrets.set(name, secret))
  })
})

export const layer: Layer.Layer<SettingStore> = Layer.effect(SettingStore, make)
