/**
 * Replaces members and parameters in messages from the operator API with the command's flags.
 */

/**
 * Patterns for members (JSON Pointers at the beginning of a problem) and for parameters (in backquotes), with their
 * flags.
 */
const names: ReadonlyArray<readonly [RegExp, string]> = [
  [/(?<=^|\s)\/overrides\/retry\/(\w+)(?:\/\d+)?/g, "--retry $1"],
  [/(?<=^|\s)\/overrides\/allow_targets(?:\/\d+)?/g, "--allow-target"],
  [/(?<=^|\s)\/overrides\/acknowledge/g, "--acknowledge"],
  [/(?<=^|\s)\/redirect_uris(?:\/\d+)?/g, "--redirect-uri"],
  [/(?<=^|\s)\/expires_in/g, "--expires-in"],
  [/(?<=^|\s)\/(status|name|id|overlap|since)\b/g, "--$1"],
  [/`integration_id`/g, "--integration"],
  [/^userId(?=: )|(?<=^|\s)\/user_id\b|`user_id`/g, "--user"],
  [/^client(?=: )|(?<=^|\s)\/client_id\b/g, "--client"],
  [/`event_id`/g, "--event"],
  [/`(state|status|limit|after|since)`/g, "--$1"]
]

export const withFlagNames = (message: string): string =>
  names.reduce((text, [pattern, flag]) => text.replaceAll(pattern, flag), message)
