/**
 * The whole engine as a layer, for applications written in Effect.
 */
import type { Directory } from "@doorhook/core"
import { defaultPublicUrl, SettingStore } from "@doorhook/core"
import { PublicUrl, serviceUrl, untracedLayer } from "@doorhook/server"
import { Context, Effect, Layer, Option } from "effect"
import type { EngineConfig } from "../config/EngineConfig.ts"
import { warnOfReadableSecrets } from "../config/KeySettings.ts"
import { checkEmbeddedConfig } from "../config/ServeConfig.ts"
import { layer as engineLayer } from "../service/Engine.ts"
import type { Port } from "../service/Ports.ts"
import { guardedLoggers } from "../telemetry/Loggers.ts"
import { Tracing } from "../telemetry/Spans.ts"

/**
 * Provides all services of doorhook, with the application's directory. `settings` is a value, or an effect that reads
 * the settings, like `fromEnvironment`. `ports` replace doorhook's own ports. If the application replaces stores, it
 * must replace all of them, and no database is opened. A server with this layer records no spans for requests to
 * doorhook. When the scope closes, doorhook finishes attempts in flight and releases its other deliveries. Fails with
 * `InvalidConfig` or `DatabaseUnusable`, whose messages say what to do.
 */
export const layer = <E = never, R = never, E2 = never, R2 = never, P extends Port = never, E3 = never, R3 = never>(
  settings: EngineConfig | Effect.Effect<EngineConfig, E2, R2>,
  directory: Layer.Layer<Directory, E, R>,
  ports?: Layer.Layer<P, E3, R3>
) => {
  const over = (own: Context.Context<never>) =>
    Layer.unwrap(
      Effect.gen(function* () {
        const config = Effect.isEffect(settings) ? yield* settings : settings
        yield* Effect.fromResult(checkEmbeddedConfig(config))
        // The application's own stores decide how secrets are stored, so there is no warning.
        const isOwnStore = Option.isSome(Context.getOption(own, SettingStore))
        const engine = engineLayer(config, directory, own)
        // Logged only after the database is open, because opening a database with encrypted secrets fails without the
        // encryption key.
        return Layer.effectDiscard(isOwnStore ? Effect.void : warnOfReadableSecrets(config)).pipe(
          Layer.provideMerge(engine),
          Layer.provideMerge(serviceUrl),
          Layer.provideMerge(untracedLayer),
          Layer.provideMerge(PublicUrl.layer(config.publicUrl ?? defaultPublicUrl)),
          Layer.provide(
            Layer.effect(
              Tracing,
              Effect.map(Tracing, (chosen) => chosen ?? true)
            )
          ),
          Layer.provide(guardedLoggers)
        )
      })
    )
  return Layer.flatMap(ports ?? Layer.empty, over)
}
