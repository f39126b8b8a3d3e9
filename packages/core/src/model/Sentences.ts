/**
 * Sentences that pages show in the reader's language: why a delivery is in its state, what helps, what is wrong with a
 * form. Core returns a key and values. This is the English table, for the API, the command line and logs. Pages have a
 * table per language.
 */
import { Schema, Struct } from "effect"
import * as DurationText from "./DurationText.ts"
import { isoOf } from "./IsoTime.ts"

/** Placeholders are in braces. `{detail}` is the observed failure in parentheses, or empty. It is always in English. */
export const sentences = {
  // How an attempt ended
  attempt_acknowledged: "The receiver acknowledged with {status} after {millis} ms.",
  attempt_late:
    "The receiver answered {status}, but too late: after {millis} ms. It should answer first and process the event afterwards.",
  attempt_status: "The receiver answered {status}.",
  attempt_2xx:
    "The receiver answered {status}: only 200 acknowledges. Change the receiver to answer 200, or accept any 2xx for this integration (setting acknowledge: 2xx).",
  attempt_2xx_owner: "The receiver answered {status}: only 200 acknowledges. Change the receiver to answer 200.",
  attempt_3xx:
    "The receiver answered {status}: a redirect, and redirects are not followed. Change the integration's URL to the final address.",
  attempt_4xx: "The receiver answered {status}: it does not accept the request.",
  attempt_5xx: "The receiver answered {status}: something failed inside it. Check its log.",
  attempt_401:
    "The receiver answered {status}: it rejects the signature, or requires credentials that the delivery does not carry. Check that the receiver has this integration's current signing secret and the right time, and that it verifies the raw body, before parsing.",
  attempt_403:
    "The receiver answered {status}: it refuses access. It can recognize deliveries by their signature; a firewall may need the service's addresses.",
  attempt_404: "The receiver answered {status}: there is nothing at the integration's URL. Check the URL.",
  attempt_405:
    "The receiver answered {status}: it does not accept POST requests at the integration's URL. Check the URL.",
  attempt_413: "The receiver answered {status}: the event is larger than it accepts.",
  attempt_429:
    "The receiver answered {status}: it gets too many requests. Limit those to this integration with requests-per-second.",
  attempt_429_owner: "The receiver answered {status}: it gets too many requests.",
  attempt_502: "The receiver answered {status}: a proxy in front of it could not reach it.",
  attempt_503: "The receiver answered {status}: it is unavailable for now.",
  attempt_504: "The receiver answered {status}: a proxy in front of it got no answer from it.",
  attempt_points: "It points to {place}.",
  attempt_asked: "It asked to wait {wait} (Retry-After).",
  attempt_asked_more: "It asked to wait {wait} (Retry-After); at most {most} is respected.",
  attempt_timeout:
    "The receiver did not send complete response headers in time{detail}. It should answer first and process the event afterwards.",
  attempt_timeout_owner:
    "No answer arrived in time. Check that the receiver can be reached, and that it answers before it processes the event.",
  attempt_connection_refused:
    "The receiver could not be reached{detail}. Check that it runs and can be reached from here.",
  attempt_connection_reset:
    "The connection to the receiver broke{detail}. Check its log and that of any proxy in front of it.",
  attempt_dns: "The name in the integration's URL has no address{detail}. Check the URL and the name's DNS entries.",
  attempt_tls:
    "No secure connection to the receiver was possible{detail}. Its certificate must be valid now, for the name in the URL, and issued by a known authority: add your own with ca-file.",
  attempt_tls_owner:
    "No secure connection to the receiver was possible. Its certificate must be valid now, for the name in the URL, and issued by a known authority.",
  attempt_incomplete_chain:
    "The receiver's certificate does not lead to a known authority{detail}. Probably the receiver does not send its intermediate certificate, which browsers hide: install its full chain there (often fullchain.pem). If it is directly from an authority of your own, add that with ca-file.",
  attempt_incomplete_chain_owner:
    "The receiver's certificate does not lead to a known authority. Probably the receiver does not send its intermediate certificate, which browsers hide: install its full chain there (often fullchain.pem).",
  attempt_unknown_authority:
    "The receiver's certificate is from an authority that is not known here{detail}. Use a certificate of a public authority, or add your own authority with ca-file.",
  attempt_unknown_authority_owner:
    "The receiver's certificate is from an authority that is not known here. Use a certificate of a public authority, or ask the operator of this service to add yours.",
  attempt_self_signed:
    "The receiver's certificate is self-signed{detail}. Use a certificate of a public authority, or add this one with ca-file.",
  attempt_self_signed_owner:
    "The receiver's certificate is self-signed. Use a certificate of a public authority, or ask the operator of this service to add this one.",
  attempt_wrong_name:
    "The receiver's certificate is for another name than the one in the integration's URL{detail}. Correct the URL, or install a certificate for that name.",
  attempt_expired: "The receiver's certificate has expired{detail}. Renew it.",
  attempt_not_yet_valid:
    "The receiver's certificate is not valid yet{detail}. Check the clocks of the receiver and of this service.",
  attempt_revoked: "The receiver's certificate has been revoked{detail}. Install a new one.",
  attempt_no_tls:
    "The port in the integration's URL does not speak HTTPS{detail}. Change the URL to the port for https, or to http:// if the receiver has none.",
  attempt_no_agreement:
    "The receiver refuses the TLS handshake{detail}. It has no version (1.2 or later) or cipher of TLS in common with this service, or demands a client certificate.",
  attempt_client_certificate:
    "The receiver demands a client certificate, which deliveries don't have{detail}. Turn that off for the integration's URL. Deliveries can be recognized by their signature.",
  attempt_needs_https:
    "The port in the integration's URL speaks HTTPS, not plain HTTP{detail}. Change the URL to https://.",
  attempt_perhaps_https:
    "The receiver closed the connection without an answer{detail}. If its port speaks HTTPS, change the integration's URL to https://. Otherwise check its log and that of any proxy in front of it.",
  attempt_blocked_address:
    "This attempt was not sent, because the address is not allowed{detail}. An operator can allow its network, for the service or for this integration (allow-target).",
  attempt_blocked_address_owner:
    "This attempt was not sent, because the address is not allowed. Give the integration a URL with a public address, or ask the operator of this service to allow this one.",
  attempt_invalid_response: "The receiver's answer is not valid HTTP{detail}. Check what listens at the URL.",

  // Why a delivery is in its state
  delivery_stored: "It is stored and has not been sent yet.",
  delivery_again: "It will be sent again.",
  delivery_attempted: "An attempt is under way.",
  delivery_tried_one: "It was tried once.",
  delivery_tried_other: "It was tried {n} times.",
  delivery_schedule_over: "The schedule has no more attempts.",
  delivery_lifetime_ends: "No attempt is left before its lifetime ends.",
  delivery_lifetime_ends_at: "No attempt is left before its lifetime ends at {time}.",
  delivery_lifetime_over: "Its lifetime ended before an attempt could be made.",
  delivery_lifetime_over_at: "Its lifetime ended at {time}, before an attempt could be made.",
  delivery_unreadable: "The event or the integration could not be read from the database.",
  delivery_skipped: "The integration was disabled when the event was published, so nothing was sent.",
  delivery_gone: "The receiver answered 410 Gone at {time}, so the integration was disabled.",
  delivery_gone_other: "The receiver answered another delivery with 410 Gone, so the integration was disabled.",
  delivery_deleted: "The integration was deleted before the delivery was acknowledged.",
  delivery_disabled: "The integration was disabled before the delivery was acknowledged.",
  delivery_right_lost: "The user who created the integration no longer has a right to these events.",
  delivery_call_ended: "The call has ended, so it is not sent any more.",

  // What happens next, and what helps
  remedy_first: "Its first attempt is due at {time}.",
  remedy_first_soon: "Its first attempt is due soon.",
  remedy_attempt: "Attempt {n} is due at {time}.",
  remedy_attempt_soon: "Attempt {n} is due soon.",
  remedy_attempt_asked:
    "Attempt {n} is due at {time}, {wait} after that answer: its Retry-After is respected, up to {most}.",
  remedy_under_way: "If the sending process ends before the outcome is recorded, another attempt is made.",
  remedy_arrived: "Nothing to do: the delivery was acknowledged.",
  remedy_nothing: "Nothing is sent.",
  remedy_nothing_more: "Nothing more is sent.",
  remedy_deleted: "The integration was deleted.",
  remedy_too_late: "It would arrive too late to be useful.",
  remedy_manual: "The integration was disabled by hand.",
  remedy_gone: "The integration is disabled because its receiver answered 410 Gone.",
  remedy_failing: "The integration is disabled because its receiver acknowledged nothing for too long.",
  remedy_resend: "You can resend this delivery, or recover all deliveries of the integration since a given time.",
  remedy_resend_owner:
    "You can send this delivery again, or recover all since a given time. To see whether the receiver works now, send a test event first.",
  remedy_probe:
    "Probe it: this sends one delivery and enables the integration if it is acknowledged. Or enable it yourself. Then resend this delivery, or recover all since a given time.",
  remedy_probe_owner:
    "Try it again: this sends the newest unacknowledged event, and enables the integration if it is acknowledged. Then send this delivery again, or recover all since a given time.",
  remedy_enable: "Enable it, then resend this delivery or recover all since a given time.",
  remedy_enable_owner: "Enable it, then send this delivery again, or recover all since a given time.",
  remedy_right_back: "Once the right is restored, resend this delivery.",
  remedy_right_back_owner: "Once the right is restored, send this delivery again.",
  remedy_try_late: "To see whether the receiver accepts it now, resend it.",
  remedy_try_late_owner: "To see whether the receiver accepts it now, send it again.",

  // What is wrong with a URL
  url_not_a_url: "The URL must be an absolute http or https URL.",
  url_scheme: "The URL must begin with http:// or https://.",
  url_too_long: "The URL must be at most {most} characters.",
  url_userinfo: "The URL must not contain a user name or password.",
  url_fragment: "The URL must not have a fragment (#...).",
  url_refused_address:
    "The URL must lead to a public address; {address} is private or reserved and not on the allow-list.",

  // Why there is no delivery
  missing_never_published: "No event {id} was published here: the id is wrong, or it is from another database.",
  missing_no_longer_retained:
    "The event is from {time}, and retention (setting retention) has deleted it with its deliveries.",
  missing_created_later: "The integration was created at {time}, after the event.",
  missing_other_building: "The integration gets events of {scope}, and this event is of {of}.",
  missing_no_binding: "The integration is not bound to {type} ({action}), only to {bound}.",
  missing_changed_later:
    "The integration matches the event now, but did not when the event was published: it was last changed at {time}.",

  // What is wrong with an integration
  detail_too_much: "The host lets this client get no more than `{most}` of these events.",
  text_too_long: "The text must be at most {most} characters.",
  text_characters: "The text must have no control characters, and no line breaks in a name.",

  // What could not be done
  error_no_building: "There is no building {id} that you may manage.",
  error_no_tenant: "There is no tenant {id} that you may manage.",
  error_unknown_integration: "There is no integration {id}.",
  error_unknown_delivery: "There is no delivery {id}.",
  error_version: "Integration {id} has been changed in the meantime. Get it again and repeat the change.",
  error_limit_building:
    "The building {id} has reached the limit of {limit} integrations (setting integrationsPerScope). Delete one, or ask the operator for a higher limit.",
  error_limit_tenant:
    "The tenant {id} has reached the limit of {limit} integrations (setting integrationsPerScope). Delete one, or ask the operator for a higher limit.",
  error_integration_disabled: "The integration is disabled. Enable it first, then send again.",
  error_integration_deleted: "The integration was deleted.",
  error_too_many_integrations:
    "More than {most} integrations match. Search for something more specific, or name one integration.",
  error_not_disabled: "Only an integration that doorhook disabled (gone, failing) can be probed.",
  error_nothing_to_send:
    "The integration has no unacknowledged delivery to probe it with. A delivery that was under way when the integration was disabled can be used once its attempt is recorded. Otherwise, enable the integration.",
  error_key_reused:
    "This Idempotency-Key was used for another request within the last 24 hours. Use a different key for each request.",
  error_key_in_use:
    "The first request with this Idempotency-Key is still being carried out. Send it again in a moment.",
  error_client_exists: "There is a client {id} already. Choose another id, or leave it out.",
  error_unknown_client:
    "No client {id} was registered with the service. Manage the directory's clients in the directory.",
  error_public_client: "Client {id} has no secret: it is public and uses PKCE, or it signs with its keys.",
  error_publisher_closed:
    "The publisher is closed, and none of these events was stored. Publish them through an open publisher.",

  // Problems with a request
  error_body_too_large: "The body is too large: at most {limit} KiB are accepted.",
  error_body_broken_off: "The body ended too early. Send the request again.",
  error_body_encoded: "The body has a Content-Encoding, which is not supported here. Send it uncompressed.",
  error_body_not_utf8: "The body is not UTF-8 text.",
  error_body_too_slow: "The body took too long to arrive. Send the request again, faster.",
  error_nothing_here: "Nothing is served at this address.",
  error_method: "Only {allow} can be used here.",
  error_internal:
    "Something went wrong inside the service. Nothing is wrong with the request; its id is in the service's log.",
  error_stopped: "The service has stopped.",
  error_answer_lost:
    "The storage's answer was lost. The request may or may not have been carried out: check before you try again.",
  error_carried_out_in_part:
    "Only a part of the request was carried out, and that part stays. Try again in a moment to complete it.",
  error_unreadable:
    "Stored data for this request can't be read. Nothing was changed, and trying again does not help. The service's log says what is damaged and what to do.",
  error_directory:
    "The directory of users returned an answer that the service can't use. Nothing was changed, and trying again does not help. The service's log says what is wrong with the answer.",
  error_directory_unavailable:
    "The service cannot reach the directory of users. Nothing was changed. Try again in a moment.",
  error_disk_full:
    "The disk of the service's storage is full. Nothing was changed. Try again when operators have made room.",
  error_read_only: "The service's storage accepts no changes now. Nothing was changed. Try again in a moment.",
  error_storage: "The service's storage does not work now. Nothing was changed. Try again in a moment."
} as const satisfies Readonly<Record<string, string>>

export type SentenceKey = keyof typeof sentences

/** A value of a placeholder. Times and durations are in milliseconds and shown in the reader's language. */
export const SentenceValue = Schema.Union([
  Schema.String,
  Schema.Number,
  Schema.Struct({ time: Schema.Number }),
  Schema.Struct({ duration: Schema.Number })
])
export type SentenceValue = typeof SentenceValue.Type

const Values = Schema.Record(Schema.String, SentenceValue)

/** A sentence as a key and values, to be shown in any language. */
export const Sentence = Schema.Struct({
  key: Schema.Literals(Struct.keys(sentences)),
  values: Schema.optionalKey(Values)
})
export type Sentence = typeof Sentence.Type
export type Sentences = ReadonlyArray<Sentence>

export const say = (key: SentenceKey, values?: typeof Values.Type): Sentence =>
  values === undefined ? { key } : { key, values }

const valueText = (value: SentenceValue): string => {
  if (typeof value !== "object") return String(value)
  return "time" in value ? isoOf(value.time) : DurationText.format(value.duration)
}

/** Returns sentences in English, separated by spaces. */
export const english = (...said: Sentences): string =>
  said
    .map(({ key, values = {} }) =>
      sentences[key].replaceAll(/\{(\w+)\}/g, (_, name: string) => valueText(values[name] ?? ""))
    )
    .join(" ")
