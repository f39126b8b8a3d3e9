/**
 * What the operator API says, in the words of a command: flags in place of members and parameters.
 */

/** Members of bodies, as JSON Pointers at the beginning of a problem, and parameters in backquotes. */
const names: ReadonlyArray<readonly [RegExp, string]> = [
  [/(?<=^|\s)\/overrides\/retry\/(\w+)(?:\/\d+)?/g, "--retry $1"],
  [/(?<=^|\s)\/overrides\/allow_targets(?:\/\d+)?/g, "--allow-target"],
  [/(?<=^|\s)\/overrides\/acknowledge/g, "--acknowledge"],
  [/(?<=^|\s)\/redirect_uris(?:\/\d+)?/g, "--redirect-uri"],
  [/(?<=^|\s)\/(status|name|id|overlap|since)\b/g, "--$1"],
  [/`integration_id`/g, "--integration"],
  [/`event_id`/g, "--event"],
  [/`(state|status|limit|after|since)`/g, "--$1"]
]

/** What to do about an answer, in commands, by its code. */
const remedies: Readonly<Record<string, string>> = {
  integration_disabled: "Enable it: doorhook integrations set INTEGRATION --status enabled",
  not_disabled:
    "To enable it: doorhook integrations set INTEGRATION --status enabled. To send again: doorhook deliveries resend DELIVERY",
  nothing_to_send: "doorhook integrations set INTEGRATION --status enabled does that"
}

export const inFlags = (code: string, message: string): string => {
  const said = names.reduce((text, [pattern, flag]) => text.replaceAll(pattern, flag), message)
  const remedy = remedies[code]
  return remedy === undefined ? said : `${said} ${remedy}.`
}
