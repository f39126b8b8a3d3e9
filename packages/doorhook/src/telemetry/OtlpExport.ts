/**
 * The OpenTelemetry exporter, in a separate module that is loaded only if there is a collector.
 */
import { ConfigProvider, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp, OtlpSerialization } from "effect/observability"
import { version } from "../version.ts"

/** Exports traces, metrics and logs according to the `OTEL_*` variables of an environment. */
export const layer = (environment: Readonly<Record<string, string>>): Layer.Layer<never> =>
  Otlp.layerFromConfig({ resource: { serviceVersion: version }, loggerMergeWithExisting: true }).pipe(
    Layer.provide(
      environment["OTEL_EXPORTER_OTLP_PROTOCOL"] === "http/json"
        ? OtlpSerialization.layerJson
        : OtlpSerialization.layerProtobuf
    ),
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment })))
  )
