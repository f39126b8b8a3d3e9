/**
 * All texts of the pages, in English and German, except core's sentences. Placeholders are in braces. Keys that end in
 * `_one` and `_other` are the singular and the plural of a text.
 */
import type { SentenceKey } from "@doorhook/core"
import { sentences } from "@doorhook/core"
import { Record } from "effect"
import { deSentences } from "./deSentences.ts"

/** Each text in English and in German. */
const table = {
  // Frame
  console: ["doorhook console", "doorhook-Konsole"],
  portal: ["Webhooks", "Webhooks"],
  skip: ["Skip to content", "Zum Inhalt springen"],
  sign_in: ["Sign in", "Anmelden"],
  sign_out: ["Sign out", "Abmelden"],
  operator: ["Operator", "Betreiber"],
  back_home: ["Back to the product", "Zurück zum Produkt"],
  overview: ["Overview", "Übersicht"],
  deliveries: ["Deliveries", "Zustellungen"],
  integrations: ["Integrations", "Integrationen"],
  clients: ["Clients", "Clients"],
  notifications: ["Notifications", "Hinweise"],
  publish: ["Publish", "Senden"],
  new_integration: ["New integration", "Neue Integration"],
  now: ["now", "jetzt"],
  newest: ["Newest", "Neueste"],
  older: ["Older", "Ältere"],
  show: ["Show", "Anzeigen"],
  save: ["Save", "Speichern"],
  cancel: ["Cancel", "Abbrechen"],
  more: ["More", "Mehr"],
  count: ["Count", "Zählen"],
  number: ["Number", "Nummer"],
  change: ["Change", "Ändern"],
  refresh: ["Refresh", "Aktualisieren"],
  stale: [
    "The service does not answer. This page may be out of date.",
    "Der Dienst antwortet nicht. Was diese Seite zeigt, kann veraltet sein."
  ],
  copy: ["Copy", "Kopieren"],
  copied: ["Copied", "Kopiert"],
  not_copied: ["Selected: copy it manually", "Markiert: bitte von Hand kopieren"],
  as_table: ["As a table", "Als Tabelle"],
  actions: ["Actions", "Aktionen"],
  status: ["Status", "Status"],
  time: ["Time", "Zeit"],
  error_title: ["Error: {title}", "Fehler: {title}"],

  // Signing in
  operator_sign_in: ["Operator console", "Betreiberkonsole"],
  operator_key: ["Operator key", "Betreiberschlüssel"],
  operator_key_hint: [
    "The key that the service was started with, or the one it printed at its first start.",
    "Der Schlüssel, mit dem der Dienst gestartet wurde oder den er beim ersten Start ausgegeben hat."
  ],
  owner_sign_in: ["Your webhooks", "Ihre Webhooks"],
  owner_sign_in_hint: [
    "Sign in to see and change the integrations of your buildings and units.",
    "Melden Sie sich an, um die Integrationen Ihrer Gebäude und Einheiten zu sehen und zu ändern."
  ],
  owner_link_hint: [
    "If you came here by a link, it no longer works: go back to where you found it.",
    "Hat Sie ein Link hergeführt, ist er abgelaufen: Gehen Sie dorthin zurück, wo Sie ihn gefunden haben."
  ],
  wrong_key: [
    "This is not the operator key of the service. Please try again.",
    "Das ist nicht der Betreiberschlüssel dieses Dienstes. Bitte versuchen Sie es noch einmal."
  ],
  login: ["Login", "Anmeldename"],
  password: ["Password", "Passwort"],
  wrong_login: [
    "Login or password is wrong. Please try again.",
    "Anmeldename oder Passwort ist falsch. Bitte versuchen Sie es noch einmal."
  ],
  throttled: [
    "Too many attempts. Please try again in {minutes} min.",
    "Zu viele Versuche. Bitte warten Sie {minutes} Min. bis zum nächsten."
  ],
  form_expired: [
    "This page was open for too long, or your browser refuses cookies. Please try again.",
    "Die Seite war zu lange offen, oder der Browser nimmt keine Cookies an. Bitte versuchen Sie es noch einmal."
  ],

  // Login and consent for applications
  log_in: ["Log in", "Anmelden"],
  login_title: ["Log in for {client}", "Anmelden für {client}"],
  login_allow: ["Log in and allow", "Anmelden und erlauben"],
  login_warning: [
    "Only log in if you started this yourself.",
    "Melden Sie sich nur an, wenn Sie dies selbst begonnen haben."
  ],
  consent_title: ["Allow access for {client}", "Zugriff für {client} erlauben"],
  consent_heading: ["Allow access?", "Zugriff erlauben?"],
  consent_allow: ["Allow", "Erlauben"],
  consent_warning: [
    "You are logged in as {user}. Not you? Deny, log out of that account, and start again. Only allow access if you started this yourself.",
    "Sie sind angemeldet als {user}. Sind Sie das nicht? Lehnen Sie ab, melden Sie dieses Konto ab, und beginnen Sie noch einmal. Erlauben Sie den Zugriff nur, wenn Sie dies selbst begonnen haben."
  ],
  deny: ["Deny", "Ablehnen"],
  asks_public: ["{client} asks for access to your buildings.", "{client} bittet um Zugriff auf Ihre Gebäude."],
  asks_other: ["{client} asks for your permission.", "{client} bittet um Ihre Erlaubnis."],
  client_host: [
    "The application is from {host}, which chose its name. It is not registered here.",
    "Die Anwendung kommt von {host}; ihren Namen hat sie selbst gewählt. Sie ist hier nicht registriert."
  ],
  abilities: ["It will be able to:", "Damit wird möglich:"],
  may_see: [
    "See your buildings and units, their doors, and the calls and entries stored about them",
    "Ihre Gebäude und Einheiten, deren Türen und die gespeicherten Anrufe und Zutritte sehen"
  ],
  may_receive: [
    "Have every new call and entry sent to a server of its own, with the names of people",
    "Sich jeden neuen Anruf und Zutritt an einen eigenen Server senden lassen, mit den Namen der Personen"
  ],
  may_manage: [
    "Add, change and delete integrations of your buildings and units",
    "Integrationen Ihrer Gebäude und Einheiten anlegen, ändern und löschen"
  ],
  then_code: [
    "You will then see a code to enter in the application.",
    "Danach wird Ihnen ein Code angezeigt, den Sie dort eingeben."
  ],
  then_app: [
    "You will then be sent to the app that opens {protocol} links.",
    "Danach geht es weiter zur App, die {protocol} öffnet."
  ],
  then_host: ["You will then be sent to {host}.", "Danach geht es weiter zu {host}."],
  undecided: ["Please choose whether to allow or deny access.", "Bitte wählen Sie, ob Sie erlauben oder ablehnen."],
  unknown_encoding: [
    "The form was sent in an unsupported encoding.",
    "Das Formular kam in einer unbekannten Kodierung an."
  ],
  code_title: ["Code for {client}", "Code für {client}"],
  code_heading: ["Your code", "Ihr Code"],
  code_copy: ["Copy this code into {client}:", "Kopieren Sie diesen Code in {client}:"],
  code_warning: [
    "It works once and expires after {minutes} minutes. Anyone who has it can get access in your name. Never give it to anyone who calls or writes to ask for it.",
    "Er gilt einmal, innerhalb von {minutes} Minuten. Wer ihn hat, bekommt Zugriff in Ihrem Namen. Geben Sie ihn niemandem, der danach fragt."
  ],
  return_title: ["log in again for {client}", "noch einmal anmelden für {client}"],
  return_heading: ["Log in again", "Noch einmal anmelden"],
  return_message: [
    "You are no longer logged in. Nothing was shared with the application.",
    "Sie sind nicht mehr angemeldet. Der Anwendung wurde nichts mitgeteilt."
  ],
  return_link: ["Log in and continue", "Anmelden und fortfahren"],
  problem_title: ["login is not possible", "Anmelden ist nicht möglich"],
  problem_heading: ["Login is not possible", "Anmelden ist nicht möglich"],
  problem_help: [
    "Go back to the application and start again. If that does not help, send the text of this page to the application's developers.",
    "Gehen Sie zurück zur Anwendung und beginnen Sie noch einmal. Hilft das nicht, senden Sie deren Hersteller den Text dieser Seite."
  ],
  internal: ["Something went wrong inside the service.", "Im Dienst ist etwas schiefgegangen."],
  unavailable: ["The service is not available at the moment.", "Der Dienst ist im Moment nicht verfügbar."],

  // Messages
  session_ended: [
    "You are no longer logged in. Nothing was changed.",
    "Sie sind nicht mehr angemeldet. Es wurde nichts geändert."
  ],
  failure_title: ["That did not work", "Das hat nicht geklappt"],
  failure_report: [
    "If this keeps happening, report it to the operator of this service, with the id of this request: {id}",
    "Hält das an, melden Sie es dem Betreiber dieses Dienstes mit der Nummer dieser Anfrage: {id}"
  ],
  failure_back: [
    "Go back, reload the page and try again.",
    "Gehen Sie zurück, laden Sie die Seite neu und versuchen Sie es noch einmal."
  ],
  failure_link: ["Go to the start page", "Zur ersten Seite"],
  expired_title: ["This link has expired", "Dieser Link ist abgelaufen"],
  expired_text: ["Links to this page only work for a short time.", "Links zu dieser Seite gelten nur kurze Zeit."],
  expired_help: [
    "Go back to where you found the link and open it again.",
    "Gehen Sie dorthin zurück, wo Sie den Link gefunden haben, und öffnen Sie ihn noch einmal."
  ],
  unknown_link_title: ["This link does not work", "Dieser Link funktioniert nicht"],
  unknown_link_text: ["It is incomplete, or was never valid.", "Er ist unvollständig oder war nie gültig."],
  unknown_link_help: [
    "If you copied it, copy all of it. Otherwise go back to where you found it and open it again.",
    "Wenn Sie ihn kopiert haben, kopieren Sie ihn ganz. Sonst gehen Sie dorthin zurück, wo Sie ihn gefunden haben, und öffnen Sie ihn noch einmal."
  ],
  deleted_title: ["This integration was deleted", "Diese Integration wurde gelöscht"],
  deleted_text: ["Nothing is sent to it any more.", "An sie wird nichts mehr gesendet."],
  deleted_help: [
    "If that was a mistake, create a new integration. It will have a different link.",
    "War das ein Versehen, legen Sie eine neue an: Sie hat einen eigenen Link."
  ],
  gone_page_title: ["Integration deleted", "Die Integration ist gelöscht"],
  gone_page_text: [
    "Nothing more is sent to it, and its unfinished deliveries are cancelled.",
    "An sie wird nichts mehr gesendet. Was unterwegs war, ist abgebrochen."
  ],
  gone_page_help: ["You can close this page.", "Sie können diese Seite schließen."],
  link_until: [
    "Anyone with the link can see and change this integration until {time}.",
    "Alle, die den Link öffnen, können dies bis {time} sehen und ändern."
  ],
  done_sent: ["The delivery is being sent.", "Gesendet."],
  done_recovered: ["Deliveries being sent: {n}", "Zustellungen, die noch einmal gesendet werden: {n}"],
  done_resent: ["Deliveries being sent: {n}", "Zustellungen, die noch einmal gesendet werden: {n}"],
  done_created: ["Integration created.", "Die Integration ist angelegt."],
  done_saved: ["Saved.", "Gespeichert."],
  done_enabled: ["Integration enabled.", "Sie ist eingeschaltet."],
  done_paused: [
    "Integration disabled. Nothing is sent until it is enabled again.",
    "Sie ist ausgeschaltet. Es wird nichts gesendet, bis sie wieder eingeschaltet wird."
  ],
  done_deleted: ["Integration deleted.", "Die Integration ist gelöscht."],
  done_removed: ["Client removed.", "Der Client ist entfernt."],
  done_revoked: ["Grants revoked: {n}", "Widerrufene Freigaben: {n}"],
  done_published: ["Published. Deliveries: {n}", "Gesendet. Zustellungen: {n}"],
  too_many: ["Too many requests. Please wait {seconds} s.", "Zu viele Anfragen. Bitte warten Sie {seconds} s."],
  too_many_tests: [
    "Too many tests. Please wait {seconds} s before the next one.",
    "Zu viele Tests. Bitte warten Sie {seconds} s bis zum nächsten."
  ],

  // Overview
  ready: ["Ready: events are accepted and delivered.", "Bereit: Ereignisse werden angenommen und zugestellt."],
  oldest_due: ["Oldest due delivery", "Älteste fällige"],
  none_due: ["none", "keine"],
  nothing_waits: ["no delivery is due", "nichts wartet"],
  has_waited: ["since it became due", "wartet, bis sie an der Reihe ist"],
  under_way: ["In flight", "Unterwegs"],
  in_memory: [
    "{waiting} queued in memory, {unsettled} not yet recorded",
    "{waiting} warten im Speicher, {unsettled} sind zu speichern"
  ],
  catch_up_one: ["{n} integration catching up", "{n} Integration holt auf"],
  catch_up_other: ["{n} integrations catching up", "{n} Integrationen holen auf"],
  events: ["Events", "Ereignisse"],
  events_kept: ["kept, of all processes", "aufbewahrt, von allen Prozessen"],
  backlog: ["Backlog", "Rückstand"],
  backlog_of: ["deliveries that are not acknowledged yet", "Zustellungen, die noch nicht bestätigt sind"],
  figures: ["Deliveries over time", "Zustellungen im Zeitverlauf"],
  figures_none: ["No deliveries in this time.", "In dieser Zeit gab es keine Zustellungen."],
  figures_from: [
    "Only deliveries since {time} are counted: the newest 500,000 of the service.",
    "Gezählt sind nur Zustellungen seit {time}: die neuesten 500.000 des Dienstes."
  ],
  span: ["Time span", "Zeitraum"],
  span_hour: ["1 hour", "1 Stunde"],
  span_day: ["24 hours", "24 Stunden"],
  span_week: ["7 days", "7 Tage"],
  success_rate: ["Success rate", "Erfolgsquote"],
  latency_median: ["Half delivered within", "Die Hälfte zugestellt in"],
  latency_95: ["95 % delivered within", "95 % zugestellt in"],
  figure_delivered: ["Acknowledged", "Bestätigt"],
  figure_failed: ["Failed so far", "Bisher gescheitert"],
  figure_waiting: ["Not attempted", "Nicht versucht"],
  deliveries_of_one: ["Deliveries of {n} event", "Zustellungen von {n} Ereignis"],
  deliveries_of_other: ["Deliveries of {n} events", "Zustellungen von {n} Ereignissen"],
  attention: ["Integrations that need attention", "Integrationen, die Aufmerksamkeit brauchen"],
  first_failed: [
    "first failed {ago}; nothing acknowledged since",
    "erster Fehler {ago}; seitdem wurde nichts bestätigt"
  ],
  none_troubled: ["None: all integrations are healthy.", "Keine: alle bestätigen."],
  and_more: ["Show all", "und weitere"],
  latest_notifications: ["Latest notifications", "Neueste Hinweise"],

  // States and outcomes
  state: ["State", "Zustand"],
  state_pending: ["pending", "wartend"],
  state_delivering: ["delivering", "in Zustellung"],
  state_retrying: ["retrying", "wird wiederholt"],
  state_delivered: ["delivered", "zugestellt"],
  state_exhausted: ["exhausted", "erschöpft"],
  state_expired: ["expired", "verfallen"],
  own_exhausted: ["not delivered", "nicht zugestellt"],
  own_expired: ["not delivered in time", "nicht rechtzeitig zugestellt"],
  given_up: ["no attempt left", "kein Versuch übrig"],
  state_cancelled: ["cancelled", "abgebrochen"],
  state_skipped: ["skipped", "übersprungen"],
  means_pending: ["waiting to be sent", "wartet, bis sie an der Reihe ist"],
  means_delivering: ["being sent now", "wird gerade gesendet"],
  means_retrying: ["waiting for the next attempt", "wartet auf den nächsten Versuch"],
  means_delivered: ["acknowledged", "wurde bestätigt"],
  means_exhausted: ["every attempt failed", "alle Versuche gescheitert"],
  means_expired: ["no time left for another attempt", "keine Zeit für einen weiteren Versuch"],
  means_cancelled: ["stopped before acknowledgement", "wurde abgebrochen"],
  means_skipped: ["integration was disabled", "kam, als ausgeschaltet war"],
  reason: ["Reason", "Grund"],
  reason_integration_disabled: ["integration disabled", "Integration ausgeschaltet"],
  reason_integration_deleted: ["integration deleted", "Integration gelöscht"],
  reason_integration_gone: ["receiver gone", "Empfänger weg"],
  reason_row_unreadable: ["unreadable", "unlesbar"],
  reason_right_lost: ["right lost", "Recht verloren"],
  call_ended: ["Call ended: {why}.", "Ruf beendet: {why}."],
  call_ended_plain: ["Call ended.", "Ruf beendet."],
  ended_answered: ["answered", "angenommen"],
  ended_answered_elsewhere: ["answered elsewhere", "anderswo angenommen"],
  ended_rejected: ["rejected", "abgelehnt"],
  ended_missed: ["missed", "verpasst"],
  ended_cancelled: ["cancelled", "abgebrochen"],
  reason_call_ended: ["call ended", "Ruf beendet"],
  reason_schedule_used_up: ["schedule used up", "keine Versuche mehr"],
  reason_lifetime_over: ["lifetime over", "zu alt"],
  own_acknowledged: ["received", "empfangen"],
  own_bad_status: ["answered with", "antwortete mit"],
  own_timeout: ["no answer in time", "keine Antwort zur rechten Zeit"],
  own_connection_refused: ["not reachable", "nicht erreichbar"],
  own_connection_reset: ["hung up", "legte auf"],
  own_dns: ["address not found", "Adresse nicht gefunden"],
  own_tls: ["no secure connection", "keine sichere Verbindung"],
  own_blocked_address: ["address not allowed", "Adresse nicht erlaubt"],
  own_invalid_response: ["answer not understood", "Antwort nicht verstanden"],
  outcome_acknowledged: ["acknowledged", "bestätigt"],
  outcome_bad_status: ["bad status", "falscher Status"],
  outcome_timeout: ["timeout", "Zeit abgelaufen"],
  outcome_connection_refused: ["connection refused", "Verbindung abgelehnt"],
  outcome_connection_reset: ["connection reset", "Verbindung abgebrochen"],
  outcome_dns: ["name not found", "Name nicht gefunden"],
  outcome_tls: ["no secure connection", "keine sichere Verbindung"],
  outcome_blocked_address: ["address not allowed", "Adresse nicht erlaubt"],
  outcome_invalid_response: ["invalid response", "ungültige Antwort"],
  type: ["Event", "Ereignis"],
  type_call: ["Call", "Anruf"],
  type_access_log: ["Access log", "Zutritt"],
  type_unknown: ["Event", "Ereignis"],
  door: ["Door {id}", "Tür {id}"],
  summary_opened: ["{door} opened by {method}, {name}", "{door} mit {method} geöffnet, {name}"],
  summary_not_opened: ["{door}: {status}, {method}, {name}", "{door}: {status}, {method}, {name}"],
  summary_visitor: ["Visitor at {panel} rings {unit}", "Besuch an {panel} klingelt bei {unit}"],
  summary_visitor_anywhere: ["Visitor rings at {panel}", "Besuch klingelt an {panel}"],
  summary_visitor_unplaced: ["Visitor rings", "Besuch klingelt"],
  summary_delivery: ["Delivery at {panel} rings {unit}", "Lieferung an {panel} klingelt bei {unit}"],
  summary_delivery_anywhere: ["Delivery rings at {panel}", "Lieferung klingelt an {panel}"],
  summary_delivery_unplaced: ["Delivery rings", "Lieferung klingelt"],
  summary_id: ["{what} {id}", "{what} {id}"],
  summary_test: ["Test: {what}", "Test: {what}"],

  // Deliveries
  find: ["Receiver, client, event or delivery", "Empfänger, Client, Ereignis oder Zustellung"],
  every_state: ["any state", "alle Zustände"],
  text: ["Text or id in the data", "Text oder Id in den Daten"],
  times_in: ["Times are in {zone}.", "Zeiten gelten für {zone}."],
  not_acknowledged: ["not acknowledged", "nicht bestätigt"],
  every_type: ["any event", "alle Ereignisse"],
  since: ["From", "Von"],
  until: ["Until", "Bis"],
  receiver: ["Receiver", "Empfänger"],
  last_attempt: ["Last attempt", "Letzter Versuch"],
  next: ["Next", "Weiter"],
  created: ["Created", "Angelegt"],
  due_now: ["due now", "jetzt fällig"],
  attempts_one: ["{n} attempt", "{n} Versuch"],
  attempts_other: ["{n} attempts", "{n} Versuche"],
  selected: ["Selected", "Ausgewählt"],
  select_all: ["Select all on this page", "Alle auf dieser Seite auswählen"],
  select_delivery: ["Select {id}", "{id} auswählen"],
  resend_selected: ["Send selected again", "Ausgewählte noch einmal senden"],
  resend_selected_hint: [
    "Sends each selected delivery immediately, as its next attempt. Up to {n} at a time.",
    "Sofort, als nächste Versuche. Bis zu {n} auf einmal."
  ],
  none_selected: [
    "No delivery was selected. Tick the boxes of the deliveries to send again.",
    "Es wurde keine Zustellung ausgewählt. Haken Sie an, was noch einmal gesendet werden soll."
  ],
  no_deliveries: ["No deliveries found.", "Es gibt keine solche Zustellung."],
  no_deliveries_yet: [
    "No deliveries yet. An event gets one for each integration that it matches.",
    "Noch keine Zustellungen. Ein Ereignis bekommt eine für jede Integration, zu der es passt."
  ],
  no_deliveries_here: [
    "No deliveries yet. Send a test event to see one here.",
    "Noch keine Zustellungen. Senden Sie ein Testereignis, um hier eine zu sehen."
  ],
  searched_to: [
    "The search went back to {time}. Older deliveries may also match.",
    "Die Suche reicht bis {time} zurück. Auch ältere Zustellungen können passen."
  ],
  compared_first: [
    "Only the first {n} integrations were compared. To find deliveries to another integration, search for its number.",
    "Verglichen wurden nur die ersten {n} Integrationen. Zustellungen an eine andere finden Sie mit deren Nummer."
  ],
  unknown_event_title: ["No such event", "Kein solches Ereignis"],
  unknown_event: [
    "Your buildings and units have no event with this id. If it is old, the service may have deleted it.",
    "Ihre Gebäude und Einheiten haben kein Ereignis mit dieser Kennung. Ist es alt, kann der Dienst es gelöscht haben."
  ],
  who_got_it: ["Integrations and this event", "Integrationen und dieses Ereignis"],
  nobody_got_it: [
    "No integration exists where this event happened, so it was sent to none.",
    "Wo dieses Ereignis geschah, gibt es keine Integration. Es wurde an keine gesendet."
  ],
  verdict_never_published: ["never published", "nie veröffentlicht"],
  verdict_no_longer_retained: ["no longer kept", "nicht mehr aufbewahrt"],
  verdict_created_later: ["created later", "später angelegt"],
  verdict_other_building: ["other building", "anderes Gebäude"],
  verdict_no_binding: ["event not chosen", "Ereignis nicht gewählt"],
  verdict_changed_later: ["changed later", "später geändert"],
  deleted_integration: ["deleted integration", "gelöschte Integration"],
  all_deliveries: ["All deliveries", "Alle Zustellungen"],
  why: ["Why", "Warum"],
  integration: ["Integration", "Integration"],
  send_again: ["Send again", "Noch einmal senden"],
  send_again_ask: [
    "Sends this delivery immediately as its next attempt, whatever its state. This replaces a waiting retry. The receiver gets the same webhook-id as before.",
    "Sie wird sofort als nächster Versuch gesendet, in jedem Zustand. Ein wartender Versuch wird ersetzt. Der Empfänger bekommt dieselbe webhook-id wie zuvor."
  ],
  send_now: ["Send now", "Jetzt senden"],
  send_now_ask: ["Sends this delivery immediately, whatever its state.", "Sie wird sofort gesendet, in jedem Zustand."],
  step_allow: ["Allow the network", "Netz erlauben"],
  step_probe: ["Try the integration again", "Integration noch einmal versuchen"],
  step_enable: ["Enable the integration", "Integration einschalten"],
  step_recover: ["Recover missed events", "Alles seit einem Zeitpunkt nachholen"],
  attempts: ["Attempts", "Versuche"],
  attempt: ["Attempt {n}", "Versuch {n}"],
  attempt_comes: ["due {when}, at {time}", "kommt {when}, um {time}"],
  no_attempts: ["None yet.", "Noch keine."],
  answer: ["Receiver's response", "Antwort des Empfängers"],
  request: ["Request", "Was gesendet wird"],
  headers: ["Headers", "Kopfzeilen"],
  header: ["Header", "Kopfzeile"],
  value: ["Value", "Wert"],
  header_type: ["The body is JSON.", "Der Inhalt ist JSON."],
  header_agent: ["The sender.", "Der Absender."],
  header_id: [
    "The id of the event, the same for every attempt. Receivers use it to drop duplicates.",
    "Das Ereignis. Bei jedem Versuch gleich: Empfänger erkennen daran Doppelte."
  ],
  header_timestamp: [
    "When the attempt was signed, in seconds since 1970.",
    "Wann der Versuch signiert wurde, in Sekunden seit 1970."
  ],
  header_attempt: [
    "The number of the attempt. A requested attempt also has doorhook-replay: 1.",
    "Die Nummer des Versuchs. Ein verlangter Versuch hat außerdem doorhook-replay: 1."
  ],
  header_expires: [
    "When the event's lifetime ends, in seconds since 1970.",
    "Wann die Lebensdauer des Ereignisses endet, in Sekunden seit 1970."
  ],
  header_own: ["Set for this integration only.", "nur für diese Integration gesetzt"],
  body: ["Body", "Inhalt"],
  header_signature: [
    "Computed for each attempt from the id, timestamp and body.",
    "Für jeden Versuch aus id, Zeit und Inhalt berechnet."
  ],
  signature: ["Compare the signature", "Signatur vergleichen"],
  signature_last: [
    "The last attempt had these signatures. They are computed again from the same id, timestamp and body.",
    "Der letzte Versuch hatte diese Signaturen. Sie sind neu berechnet, aus derselben id, derselben Zeit und demselben Inhalt."
  ],
  signature_first: [
    "No attempt was made yet. An attempt made now would have these signatures.",
    "Es gab noch keinen Versuch. Jetzt hätte einer diese Signaturen."
  ],
  signature_content: [
    "Signed is this text, followed by the body exactly as it is sent:",
    "Signiert wird dieser Text, gefolgt vom Inhalt, genau wie er gesendet wird:"
  ],
  signed_current: ["Current secret", "Jetziges Geheimnis"],
  signed_previous: ["Previous secret", "Voriges Geheimnis"],
  signed_key: ["Public key", "Öffentlicher Schlüssel"],
  as_curl: ["Copy as curl", "Als curl kopieren"],
  as_curl_hint: [
    "Sends the same request. Receivers refuse its signature five minutes after the attempt.",
    "Sendet dieselbe Anfrage. Empfänger lehnen ihre Signatur fünf Minuten nach dem Versuch ab."
  ],

  // Integrations
  every_status: ["any status", "alle"],
  enabled: ["enabled", "eingeschaltet"],
  disabled: ["disabled", "ausgeschaltet"],
  unhealthy: ["unhealthy", "mit Störung"],
  failing: ["failing", "gestört"],
  disabled_manual: ["disabled by hand", "von Hand ausgeschaltet"],
  disabled_gone: ["disabled: receiver gone", "ausgeschaltet: Empfänger weg"],
  disabled_failing: ["disabled: failed for too long", "ausgeschaltet: zu lange gestört"],
  why_manual: [
    "This integration was disabled by hand. Nothing is sent until it is enabled again.",
    "Sie wurde von Hand ausgeschaltet. Es wird nichts gesendet, bis sie wieder eingeschaltet wird."
  ],
  why_gone: [
    "This integration is disabled because the receiver answered 410 Gone.",
    "Sie ist ausgeschaltet, weil der Empfänger mit 410 Gone geantwortet hat."
  ],
  why_failing: [
    "This integration is disabled because the receiver has not acknowledged anything for too long.",
    "Sie ist ausgeschaltet, weil der Empfänger zu lange nichts bestätigt hat."
  ],
  nothing_since: [
    "The receiver has acknowledged nothing since {time}.",
    "Der Empfänger hat seit {time} nichts bestätigt."
  ],
  catching_up: [
    "The receiver acknowledges again. Since {time}, its waiting retries have been sent early.",
    "Der Empfänger bestätigt wieder. Wartende Ereignisse werden ihm seit {time} vorzeitig gesendet."
  ],
  unreadable: [
    "Integration {id} of {whose} can't be read: {why}",
    "Integration {id} ({whose}) kann nicht gelesen werden: {why}"
  ],
  health: ["Health", "Befinden"],
  host: ["Host", "Host"],
  whose: ["Owner", "Von"],
  latest: ["Latest deliveries", "Neueste"],
  no_integrations: ["No integrations yet.", "Noch keine Integrationen."],
  scope_building: ["Building {id}", "Gebäude {id}"],
  scope_tenant: ["Tenant {id}", "Mieter {id}"],
  scope_service: ["The service itself", "der Dienst selbst"],
  by_client: ["by {client}", "von {client}"],
  by_deleted: ["by a deleted client", "von einem gelöschten Client"],
  by_owner: ["added on these pages", "auf diesen Seiten angelegt"],
  since_then: ["since {ago}", "seit {ago}"],
  sends_to: ["Receiver URL", "Sendet an"],
  sends: ["Events", "Sendet"],
  test: ["Send test event", "Testereignis senden"],
  test_ask: [
    "Sends one made-up event ({type}) to this integration only. It is marked with “test”: true, and signed and retried like any other event.",
    "Sendet ein erfundenes Ereignis ({type}) an diese Integration und an keine andere. Es ist mit „test“: true gekennzeichnet und wird wie jedes andere signiert und wiederholt."
  ],
  test_rings: ["The receiver may ring.", "Beim Empfänger kann es klingeln."],
  try_again: ["Try it again", "Noch einmal versuchen"],
  try_again_ask: [
    "Sends the newest event that was not acknowledged. If it is acknowledged now, the integration is enabled.",
    "Sendet das neueste Ereignis, das nicht bestätigt wurde. Bestätigt schaltet es die Integration ein."
  ],
  disable: ["Disable", "Ausschalten"],
  pause: ["Pause", "Pausieren"],
  pause_ask: [
    "Nothing is sent until the integration is enabled again. Waiting deliveries are cancelled; you can recover them afterwards.",
    "Es wird nichts gesendet, bis sie wieder eingeschaltet wird. Was wartet, wird abgebrochen; es lässt sich danach nachholen."
  ],
  enable: ["Enable", "Einschalten"],
  enable_ask: [
    "New events are sent again. You can recover missed events afterwards.",
    "Neue Ereignisse werden wieder gesendet. Was fehlt, lässt sich danach nachholen."
  ],
  recover: ["Recover missed events", "Verpasstes nachholen"],
  recover_ask: [
    "Sends again what the receiver has not acknowledged since a time.",
    "Sendet noch einmal, was der Empfänger seit einem Zeitpunkt nicht bestätigt hat."
  ],
  no_time: ["Enter the time to recover from.", "Geben Sie an, ab wann nachgeholt werden soll."],
  recover_count_one: [
    "{n} delivery since {time} was not acknowledged and can be sent again.",
    "{n} Zustellung seit {time} wurde nicht bestätigt und kann noch einmal gesendet werden."
  ],
  recover_count_other: [
    "{n} deliveries since {time} were not acknowledged and can be sent again.",
    "{n} Zustellungen seit {time} wurden nicht bestätigt und können noch einmal gesendet werden."
  ],
  recover_late: [
    "Also send what is too late to be useful, like rings: {n}",
    "Auch senden, was zu spät kommt, wie Klingeln: {n}"
  ],
  recover_late_hint: [
    "Receivers store it, but must not ring.",
    "Der Empfänger speichert es, darf aber nicht klingeln."
  ],
  recover_send_one: ["Send {n} delivery again", "{n} Zustellung noch einmal senden"],
  recover_send_other: ["Send {n} deliveries again", "{n} Zustellungen noch einmal senden"],
  more_than: ["more than ", "mehr als "],
  make_link: ["Create a link for the owner", "Link für den Eigentümer"],
  make_link_ask: [
    "Anyone with the link can see and change this integration until the link expires.",
    "Alle, die den Link haben, können diese Integration sehen und ändern, bis er abläuft."
  ],
  lifetime: ["Valid for", "Gültig für"],
  link: ["Link", "Link"],
  link_made: [
    "The link is valid until {time}. It is shown only once.",
    "Der Link gilt bis {time}. Er wird nur dieses eine Mal angezeigt."
  ],
  own_settings: ["Overrides", "Eigene Einstellungen"],
  own_some: [
    "This integration overrides some default settings.",
    "Ihre Zustellungen weichen von denen der anderen ab."
  ],
  own_none: ["This integration uses the default settings.", "Ihre Zustellungen geschehen wie die aller anderen."],
  as_everywhere: ["default", "wie überall"],
  acknowledge: ["Acknowledging status", "Was bestätigt"],
  retry: ["Retries: {type}", "Wiederholungen: {type}"],
  retry_hint: [
    "Delays, such as 5s, 30s; “none” for no retries; empty for the default.",
    "Abstände wie 5s, 30s; none für keine; leer wie überall."
  ],
  allow_targets: ["Allowed networks", "Erlaubte Netze"],
  allow_hint: [
    "Private networks this integration may send to, such as 10.0.0.0/8.",
    "Private Netze, an die sie senden darf, wie 10.0.0.0/8."
  ],

  // Owners
  your_integrations: ["Your webhooks", "Ihre Webhooks"],
  find_integration: ["Name, receiver or client", "Name, Empfänger oder Client"],
  welcome: ["Send events to another program", "Ereignisse an ein anderes Programm senden"],
  welcome_text: [
    "A webhook is a message to another program, sent at once when something happens in your building: somebody rings, or a door opens. Here you choose which program gets which events.",
    "Ein Webhook meldet einem anderen Programm sofort, wenn in Ihrem Gebäude etwas geschieht: Jemand klingelt, oder eine Tür geht auf. Hier legen Sie fest, welches Programm welche Ereignisse bekommt."
  ],
  welcome_first: [
    "Get the address (URL) at which that program takes webhooks, from its maker.",
    "Fragen Sie den Hersteller des Programms nach der Adresse (URL), unter der es Webhooks annimmt."
  ],
  welcome_second: [
    "Create an integration with this address, and choose the events.",
    "Legen Sie eine Integration mit dieser Adresse an, und wählen Sie die Ereignisse."
  ],
  welcome_third: [
    "Send a test event, and see here whether it arrived.",
    "Senden Sie ein Testereignis, und sehen Sie hier, ob es angekommen ist."
  ],
  no_places: [
    "There are no buildings or units that you can manage.",
    "Es gibt kein Gebäude und keine Einheit, die Sie verwalten dürfen."
  ],
  no_place: ["There is nothing here that you can manage.", "Hier gibt es nichts, was Sie verwalten dürfen."],
  more_places: ["{n} more places are not shown.", "{n} weitere Orte werden nicht gezeigt."],
  all_of: ["All {n}", "Alle {n}"],
  unit: ["Unit {label}", "Einheit {label}"],
  place: ["Building or unit", "Gebäude oder Einheit"],
  name: ["Name", "Name"],
  name_hint: [
    "Optional. A name to recognize it by, like “Lobby display”.",
    "Freiwillig. Woran Sie sie erkennen, etwa „Anzeige im Foyer“."
  ],
  description: ["Description", "Beschreibung"],
  description_hint: [
    "Optional. For example whom to call if it fails.",
    "Freiwillig. Etwa, wen man bei Störungen anruft."
  ],
  detail: ["Data", "Daten"],
  detail_hint: [
    "How much the receiver learns about people. A link opens with an access token.",
    "Wie viel der Empfänger über Personen erfährt. Ein Link öffnet sich mit einem Zugriffstoken."
  ],
  detail_full: ["Everything", "Alles"],
  detail_redacted: ["Without personal data", "Ohne persönliche Daten"],
  detail_thin: ["Only an id and a link", "Nur eine Nummer und ein Link"],
  about_call: [
    "Somebody rings at a door and waits for an answer.",
    "Jemand klingelt an einer Tür und wartet auf Antwort."
  ],
  about_access_log: [
    "Somebody opened a door, or was refused. The data names the person.",
    "Jemand hat eine Tür geöffnet oder wurde abgewiesen. Die Daten nennen die Person."
  ],
  sample: ["Sample", "Beispiel"],
  url_refused_owner: [
    "This address ({address}) is private or reserved. Use one that can be reached from the internet, or ask the operator of this service to allow it.",
    "Diese Adresse ({address}) ist privat oder reserviert. Nehmen Sie eine, die aus dem Internet erreichbar ist, oder bitten Sie den Betreiber dieses Dienstes, sie zu erlauben."
  ],
  url: ["Receiver URL", "URL des Empfängers"],
  url_hint: ["Each event is sent to this address by POST.", "Dorthin wird jedes Ereignis per POST gesendet."],
  which_events: ["Events", "Ereignisse"],
  no_events: ["Choose at least one event.", "Wählen Sie mindestens ein Ereignis."],
  create: ["Create", "Anlegen"],
  edit: ["Edit", "Bearbeiten"],
  edit_title: ["Edit {name}", "{name} bearbeiten"],
  created_title: ["Integration created", "Die Integration ist angelegt"],
  rotated_title: ["New secret created", "Die Integration hat ein neues Geheimnis"],
  secret: ["Signing secret", "Signaturgeheimnis"],
  secret_once: [
    "The receiver needs this secret to check that requests are real. It is shown only once. Copy it now; if you lose it, create a new secret.",
    "Der Empfänger prüft damit, dass Anfragen echt sind. Es wird nur dieses eine Mal angezeigt. Kopieren Sie es jetzt: Wer es verliert, macht ein neues."
  ],
  secret_overlap: [
    "For 24 hours, requests are signed with the old secret, too. Replace it at the receiver by then.",
    "Noch 24 Stunden lang werden Anfragen auch mit dem alten Geheimnis signiert. Ersetzen Sie es bis dahin beim Empfänger."
  ],
  secret_shown_title: ["The secret is shown only once", "Das Geheimnis wird nur einmal angezeigt"],
  secret_shown: [
    "Nothing was changed now. This form was sent before, or the integration has been changed since. If you have not copied the new secret, create another one on the page of the integration.",
    "Jetzt wurde nichts geändert. Das Formular wurde schon einmal gesendet, oder die Integration hat sich seither geändert. Falls Sie das neue Geheimnis nicht kopiert haben, machen Sie auf der Seite der Integration noch eines."
  ],
  secret_kept: ["I have copied it", "Ich habe es kopiert"],
  rotate: ["New secret", "Neues Geheimnis"],
  rotate_ask: [
    "Creates a new signing secret and shows it once. For 24 hours, requests are signed with both secrets.",
    "Macht ein neues Signaturgeheimnis und zeigt es einmal an. Das alte signiert noch einen Tag lang mit."
  ],
  delete: ["Delete", "Löschen"],
  delete_named: ["Delete {name}", "{name} löschen"],
  delete_text: [
    "Ends this integration and cancels its unfinished deliveries.",
    "Beendet diese Integration und bricht ab, was noch nicht zugestellt ist."
  ],
  danger: ["Danger zone", "Gefahrenbereich"],
  delete_ask: [
    "Nothing more is sent to this integration, and its unfinished deliveries are cancelled. This can't be undone.",
    "An sie wird nichts mehr gesendet, und was wartet, wird abgebrochen. Das lässt sich nicht rückgängig machen."
  ],
  verify: ["Verify signatures", "Signaturen prüfen"],
  verify_text: [
    "Add this code to your receiver, with the integration's signing secret.",
    "Setzen Sie dies in Ihren Empfänger ein, mit dem Signaturgeheimnis der Integration."
  ],
  verify_key_text: [
    "Add this code to your receiver, with the service's public key.",
    "Setzen Sie dies in Ihren Empfänger ein, mit dem öffentlichen Schlüssel des Dienstes."
  ],
  verify_off_text: [
    "This service does not sign its requests, so receivers can't verify who sent them.",
    "Dieser Dienst signiert seine Anfragen nicht. Empfänger können nicht prüfen, wer sie gesendet hat."
  ],
  public_key: ["Public key", "Öffentlicher Schlüssel"],
  public_key_hint: [
    "The key may change. If no signature matches, get the key again from {url}",
    "Der Schlüssel kann sich ändern. Passt keine Signatur, rufen Sie ihn neu ab: {url}"
  ],
  verify_language: ["Language", "Sprache"],
  back_to_integration: ["Back to the integration", "Zurück zur Integration"],

  // Clients and grants
  registered_clients: ["Registered clients", "Registrierte Clients"],
  client_id: ["Client id", "Client-Id"],
  client_id_hint: ["Leave empty to generate one.", "Leer lassen, um eine zu bekommen."],
  client_name: ["Name", "Name"],
  redirect_uris: ["Redirect URIs", "Redirect-URIs"],
  redirect_uris_hint: ["One per line.", "Eine pro Zeile."],
  confidential_client: [
    "Can keep a secret (otherwise it uses PKCE)",
    "Er kann ein Geheimnis bewahren (sonst nutzt er PKCE)"
  ],
  with_keys: ["keys (private_key_jwt)", "Schlüssel (private_key_jwt)"],
  public_client: ["none (public)", "keines (öffentlich)"],
  client_secret: ["Client secret", "Client-Geheimnis"],
  secrets_one: ["{n} secret", "{n} Geheimnis"],
  secrets_other: ["{n} secrets", "{n} Geheimnisse"],
  one_ends: ["one expires", "eines endet"],
  register: ["Register", "Registrieren"],
  register_client: ["Register a client", "Einen Client registrieren"],
  client_registered: ["Client {id}", "Client {id}"],
  rotate_client_ask: [
    "Creates a new secret and shows it once. The old one stays valid for a day.",
    "Macht ein neues Geheimnis und zeigt es einmal an. Das alte gilt noch einen Tag."
  ],
  remove: ["Remove", "Entfernen"],
  remove_named: ["Remove {name}", "{name} entfernen"],
  remove_client_ask: [
    "The client can no longer be used, and its tokens become invalid.",
    "Der Client kann nicht mehr benutzt werden, und seine Token enden."
  ],
  no_clients: [
    "No clients are registered here. Clients of the directory are managed in the directory.",
    "Kein Client ist registriert. Die des Verzeichnisses werden dort verwaltet."
  ],
  grants: ["Grants", "Freigaben"],
  grants_text: [
    "Access that a user has granted to clients. Revoking a grant invalidates its tokens immediately.",
    "Was jemand Clients erlaubt hat. Ein Widerruf beendet alle Token sofort."
  ],
  user_id: ["User id in the directory", "Id der Person, wie das Verzeichnis sie kennt"],
  deleted_client: ["deleted client", "gelöschter Client"],
  scope: ["Scope", "Umfang"],
  revoke: ["Revoke", "Widerrufen"],
  revoke_ask: [
    "All access that the user granted to this client ends immediately.",
    "Alles, was diesem Client erlaubt wurde, endet sofort."
  ],
  revoke_all: ["Revoke all", "Alle widerrufen"],
  revoke_all_ask: [
    "All access that the user granted to any client ends immediately.",
    "Alles, was irgendeinem Client erlaubt wurde, endet sofort."
  ],
  own_grants: ["Applications with access", "Anwendungen mit Zugriff"],
  own_grants_text: [
    "You allowed these applications to act for you. If you revoke access, it ends immediately.",
    "Diesen Anwendungen haben Sie Zugriff erlaubt. Wenn Sie ihn widerrufen, endet er sofort."
  ],
  last_use: ["Last use", "Zuletzt genutzt"],
  no_grants: ["No application has access.", "Keine Anwendung hat Zugriff."],

  // Notifications
  no_notifications: ["None.", "Keine."],
  notification_failing: [
    "has acknowledged nothing since {since}. If this continues, a failed attempt disables it: at {disables} at the earliest, and not before the tenth attempt.",
    "bestätigt seit {since} nichts. Bleibt es dabei, schaltet ein gescheiterter Versuch sie aus: frühestens {disables} und nicht vor dem zehnten."
  ],
  notification_gone: [
    "was disabled: its receiver answered 410 Gone",
    "wurde ausgeschaltet: Der Empfänger hat mit 410 Gone geantwortet"
  ],
  notification_disabled: [
    "was disabled: it had not acknowledged anything for too long",
    "wurde ausgeschaltet: Sie hat zu lange nichts bestätigt"
  ],
  notification_recovered: ["acknowledges again", "bestätigt wieder"],
  notification_retention: [
    "The clock jumped ahead, so nothing is deleted by age for 24 hours.",
    "Die Uhr ist vorgesprungen: 24 Stunden lang wird nichts wegen seines Alters gelöscht."
  ],
  notification_clock: [
    "The clocks of {machine} and of the database server differ by {offset}.",
    "Die Uhren von {machine} und des Datenbankservers weichen um {offset} voneinander ab."
  ],
  notification_exhausted_one: [
    "{n} delivery was given up: no attempts are left",
    "{n} Zustellung wurde aufgegeben: keine Versuche mehr"
  ],
  notification_exhausted_other: [
    "{n} deliveries were given up: no attempts are left",
    "{n} Zustellungen wurden aufgegeben: keine Versuche mehr"
  ],

  // Publishing
  publish_text: [
    "Publishes one event, as your backend does. Every matching integration gets it.",
    "Sendet ein Ereignis, wie es Ihr Backend tut: Alle Integrationen, zu denen es passt, bekommen es."
  ],
  publish_button: ["Publish", "Senden"],
  building_id: ["Building", "Gebäude"],
  tenant_ids: ["Tenants", "Mieter"],
  tenant_ids_hint: [
    "Tenants whose unit or access the event involves, separated by commas.",
    "Deren Einheit oder Zutritt das Ereignis betrifft, mit Kommas."
  ],
  data: ["Data (JSON)", "Daten (JSON)"]
} as const satisfies Readonly<globalThis.Record<string, readonly [english: string, german: string]>>

export type TextKey = keyof typeof table | SentenceKey
export type Texts = Readonly<globalThis.Record<TextKey, string>>

export const en: Texts = { ...sentences, ...Record.map(table, ([english]) => english) }

export const de: Texts = { ...deSentences, ...Record.map(table, ([, german]) => german) }
