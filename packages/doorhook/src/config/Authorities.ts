/**
 * Certificate authorities to trust for receivers in addition to the public ones, for example a building's own
 * authority.
 */
import { fileTroubleOf } from "@doorhook/core"
import { Result } from "effect"
import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import type { EngineConfig } from "./EngineConfig.ts"
import type { InvalidConfig } from "./ReadingSettings.ts"
import { invalid } from "./ReadingSettings.ts"

/** Splits a PEM text (RFC 7468) into its certificates. */
const certificatesIn = (text: string): ReadonlyArray<string> =>
  text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []

const isCertificate = (pem: string): boolean => {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

/** Returns the PEM certificates in the configured file; none without a file. */
export const authoritiesOf = ({
  caFile: file
}: Pick<EngineConfig, "caFile">): Result.Result<ReadonlyArray<string>, InvalidConfig> => {
  if (file === undefined) return Result.succeed([])
  try {
    const certificates = certificatesIn(readFileSync(file, "utf8"))
    const broken = certificates.findIndex((pem) => !isCertificate(pem))
    if (broken !== -1) return invalid(`caFile: certificate ${broken + 1} of ${file} can't be read`)
    if (certificates.length > 0) return Result.succeed(certificates)
    return invalid(`caFile: ${file} has no PEM certificate (none begins with -----BEGIN CERTIFICATE-----)`)
  } catch (error) {
    return invalid(`caFile: ${file} can't be read: ${fileTroubleOf(error)}`)
  }
}
