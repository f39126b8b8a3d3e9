/**
 * Settings in the words of the command line: beside its name, the flag or the variable that gives a setting.
 */
import { InvalidConfig } from "../config/ReadingSettings.ts"

const givenBy: Readonly<Record<string, string>> = {
  port: "--port",
  host: "--host",
  workers: "--workers",
  publicUrl: "--public-url",
  directory: "--directory",
  database: "--database",
  allowTargets: "--allow-target",
  retry: "--retry",
  ackTimeout: "--ack-timeout",
  disableAfter: "--disable-after",
  retention: "--retention",
  webhookSources: "--webhook-source",
  trustedProxies: "--trusted-proxy",
  metricsFor: "--metrics-for",
  operatorKey: "--operator-key or DOORHOOK_OPERATOR_KEY",
  encryptionKey: "DOORHOOK_ENCRYPTION_KEY",
  proxy: "DOORHOOK_PROXY"
}

/** Problems begin with the name of what they are about, and stand one after the other. */
const names = new RegExp(`(?<=^|; )(${Object.keys(givenBy).join("|")})(?=[ :.])`, "g")

export const withFlags = ({ message }: InvalidConfig): InvalidConfig =>
  new InvalidConfig({ message: message.replaceAll(names, (name) => `${name} (${givenBy[name] ?? ""})`) })
