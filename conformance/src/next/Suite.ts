/**
 * What this suite is called in its reports.
 */

/** The package's version: a verdict is worth nothing without the version of the suite that gave it. */
export const version = "0.1.0"

/** The `suite` member of a report. */
export const suite = `doorhook-conformance/${version}`
