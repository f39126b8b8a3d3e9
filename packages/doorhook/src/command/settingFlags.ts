/**
 * Adds the flag or the environment variable of a setting to messages that name the setting.
 */
import { withPlaces } from "../config/ReadingSettings.ts"

/** The flag or the environment variable of each setting. */
export const givenBy: Readonly<Record<string, string>> = {
  port: "--port",
  host: "--host",
  workers: "--workers",
  publicUrl: "--public-url",
  directory: "--directory",
  database: "--database",
  allowTargets: "--allow-target",
  retry: "--retry",
  callEnd: "--call-end",
  ackTimeout: "--ack-timeout",
  disableAfter: "--disable-after",
  retention: "--retention",
  caFile: "--ca-file",
  acceptLostFrames: "--accept-lost-frames",
  webhookSources: "--webhook-source",
  trustedProxies: "--trusted-proxy",
  browserOrigins: "--browser-origin",
  metricsFor: "--metrics-for",
  clientIsolation: "--client-isolation",
  metricsKey: "DOORHOOK_METRICS_KEY",
  operatorKey: "--operator-key or DOORHOOK_OPERATOR_KEY",
  encryptionKey: "DOORHOOK_ENCRYPTION_KEY",
  proxy: "DOORHOOK_PROXY"
}

export const withFlags = withPlaces(givenBy)
