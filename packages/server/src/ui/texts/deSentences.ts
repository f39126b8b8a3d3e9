/**
 * Core's sentences in German.
 */
import type { SentenceKey } from "@doorhook/core"

export const deSentences: Readonly<Record<SentenceKey, string>> = {
  attempt_acknowledged: "Der Empfänger hat nach {millis} ms mit {status} bestätigt.",
  attempt_late:
    "Der Empfänger hat mit {status} geantwortet, aber zu spät: nach {millis} ms. Er sollte erst antworten und dann arbeiten.",
  attempt_status: "Der Empfänger hat mit {status} geantwortet.",
  attempt_2xx:
    "Der Empfänger hat mit {status} geantwortet: Nur 200 bestätigt. Lassen Sie ihn mit 200 antworten, oder lassen Sie für diese Integration jeden Status 2xx gelten (Einstellung acknowledge: 2xx).",
  attempt_2xx_owner: "Der Empfänger hat mit {status} geantwortet: Nur 200 bestätigt. Lassen Sie ihn mit 200 antworten.",
  attempt_3xx:
    "Der Empfänger hat mit {status} geantwortet, einer Weiterleitung. Weiterleitungen wird nicht gefolgt. Tragen Sie als URL der Integration die endgültige Adresse ein.",
  attempt_4xx: "Der Empfänger hat mit {status} geantwortet: Er nimmt die Anfrage nicht an.",
  attempt_5xx:
    "Der Empfänger hat mit {status} geantwortet: In ihm ist etwas schiefgegangen. Sehen Sie in seinem Protokoll nach.",
  attempt_401:
    "Der Empfänger hat mit {status} geantwortet: Er lehnt die Signatur ab oder verlangt Zugangsdaten, die Zustellungen nicht enthalten. Prüfen Sie, ob er das aktuelle Signaturgeheimnis dieser Integration kennt, ob seine Uhr stimmt und ob er den unveränderten Inhalt prüft, bevor er ihn auswertet.",
  attempt_403:
    "Der Empfänger hat mit {status} geantwortet: Er verweigert den Zugriff. Zustellungen sind an ihrer Signatur zu erkennen; eine Firewall braucht vielleicht die Adressen des Dienstes.",
  attempt_404:
    "Der Empfänger hat mit {status} geantwortet: Unter der URL der Integration gibt es nichts. Prüfen Sie die URL.",
  attempt_405:
    "Der Empfänger hat mit {status} geantwortet: Unter der URL der Integration nimmt er keine POST-Anfragen an. Prüfen Sie die URL.",
  attempt_413: "Der Empfänger hat mit {status} geantwortet: Das Ereignis ist größer, als er annimmt.",
  attempt_429:
    "Der Empfänger hat mit {status} geantwortet: Er bekommt zu viele Anfragen. Begrenzen Sie die Anfragen an diese Integration mit requests-per-second.",
  attempt_429_owner: "Der Empfänger hat mit {status} geantwortet: Er bekommt zu viele Anfragen.",
  attempt_502: "Der Empfänger hat mit {status} geantwortet: Ein Proxy vor ihm konnte ihn nicht erreichen.",
  attempt_503: "Der Empfänger hat mit {status} geantwortet: Er ist zurzeit nicht verfügbar.",
  attempt_504: "Der Empfänger hat mit {status} geantwortet: Ein Proxy vor ihm bekam keine Antwort von ihm.",
  attempt_points: "Die Weiterleitung führt zu {place}.",
  attempt_asked: "Er bat darum, {wait} zu warten (Retry-After).",
  attempt_asked_more: "Er bat darum, {wait} zu warten (Retry-After); davon werden {most} eingehalten.",
  attempt_timeout:
    "Die Kopfzeilen der Antwort kamen nicht rechtzeitig vollständig an{detail}. Der Empfänger sollte erst antworten und dann arbeiten.",
  attempt_timeout_owner:
    "Es kam nicht rechtzeitig eine Antwort. Prüfen Sie, ob der Empfänger erreichbar ist und ob er erst antwortet und dann arbeitet.",
  attempt_connection_refused:
    "Der Empfänger war nicht erreichbar{detail}. Prüfen Sie, ob er läuft und von hier aus erreichbar ist.",
  attempt_connection_reset:
    "Die Verbindung zum Empfänger brach ab{detail}. Sehen Sie in seinem Protokoll oder dem eines Proxys vor ihm nach.",
  attempt_dns:
    "Der Name in der URL der Integration hat keine Adresse{detail}. Prüfen Sie die URL und die DNS-Einträge des Namens.",
  attempt_tls:
    "Es kam keine sichere Verbindung zum Empfänger zustande{detail}. Sein Zertifikat muss jetzt gültig sein, für den Namen in der URL gelten und von einer bekannten Stelle ausgestellt sein; eine eigene fügen Sie mit ca-file hinzu.",
  attempt_tls_owner:
    "Es kam keine sichere Verbindung zum Empfänger zustande. Sein Zertifikat muss jetzt gültig sein, für den Namen in der URL gelten und von einer bekannten Stelle ausgestellt sein.",
  attempt_incomplete_chain:
    "Das Zertifikat des Empfängers führt zu keiner bekannten Stelle{detail}. Wahrscheinlich sendet der Empfänger sein Zwischenzertifikat nicht, was Browser verbergen: installieren Sie dort die ganze Kette (oft fullchain.pem). Stammt es direkt von einer eigenen Stelle, fügen Sie diese mit ca-file hinzu.",
  attempt_incomplete_chain_owner:
    "Das Zertifikat des Empfängers führt zu keiner bekannten Stelle. Wahrscheinlich sendet der Empfänger sein Zwischenzertifikat nicht, was Browser verbergen: installieren Sie dort die ganze Kette (oft fullchain.pem).",
  attempt_unknown_authority:
    "Das Zertifikat des Empfängers stammt von einer Stelle, die hier nicht bekannt ist{detail}. Verwenden Sie ein Zertifikat einer öffentlichen Stelle, oder fügen Sie Ihre eigene mit ca-file hinzu.",
  attempt_unknown_authority_owner:
    "Das Zertifikat des Empfängers stammt von einer Stelle, die hier nicht bekannt ist. Verwenden Sie ein Zertifikat einer öffentlichen Stelle, oder bitten Sie den Betreiber dieses Dienstes, Ihre hinzuzufügen.",
  attempt_self_signed:
    "Das Zertifikat des Empfängers ist selbst signiert{detail}. Verwenden Sie ein Zertifikat einer öffentlichen Stelle, oder fügen Sie dieses mit ca-file hinzu.",
  attempt_self_signed_owner:
    "Das Zertifikat des Empfängers ist selbst signiert. Verwenden Sie ein Zertifikat einer öffentlichen Stelle, oder bitten Sie den Betreiber dieses Dienstes, dieses hinzuzufügen.",
  attempt_wrong_name:
    "Das Zertifikat des Empfängers gilt für einen anderen Namen als den in der URL der Integration{detail}. Berichtigen Sie die URL, oder installieren Sie ein Zertifikat für diesen Namen.",
  attempt_expired: "Das Zertifikat des Empfängers ist abgelaufen{detail}. Erneuern Sie es.",
  attempt_not_yet_valid:
    "Das Zertifikat des Empfängers ist noch nicht gültig{detail}. Prüfen Sie die Uhren des Empfängers und dieses Dienstes.",
  attempt_revoked: "Das Zertifikat des Empfängers wurde widerrufen{detail}. Installieren Sie ein neues.",
  attempt_no_tls:
    "Der Port in der URL der Integration spricht kein HTTPS{detail}. Ändern Sie die URL auf den Port für https, oder auf http://, wenn der Empfänger keinen hat.",
  attempt_no_agreement:
    "Der Empfänger lehnt den TLS-Handshake ab{detail}. Er hat keine Version (ab 1.2) oder kein Verfahren von TLS mit diesem Dienst gemeinsam, oder er verlangt ein Client-Zertifikat.",
  attempt_client_certificate:
    "Der Empfänger verlangt ein Client-Zertifikat, das Zustellungen nicht haben{detail}. Schalten Sie das für die URL der Integration ab. Zustellungen sind an ihrer Signatur zu erkennen.",
  attempt_needs_https:
    "Der Port in der URL der Integration spricht HTTPS, nicht einfaches HTTP{detail}. Ändern Sie die URL auf https://.",
  attempt_perhaps_https:
    "Der Empfänger schloss die Verbindung ohne Antwort{detail}. Wenn sein Port HTTPS spricht, ändern Sie die URL der Integration auf https://. Sehen Sie sonst in seinem Protokoll oder dem eines Proxys vor ihm nach.",
  attempt_blocked_address:
    "Dieser Versuch wurde nicht gesendet, weil die Adresse nicht erlaubt ist{detail}. Ein Betreiber kann ihr Netz erlauben, für den Dienst oder für diese Integration (allow-target).",
  attempt_blocked_address_owner:
    "Dieser Versuch wurde nicht gesendet, weil die Adresse nicht erlaubt ist. Geben Sie der Integration eine URL mit öffentlicher Adresse, oder bitten Sie den Betreiber dieses Dienstes, diese zu erlauben.",
  attempt_invalid_response:
    "Die Antwort des Empfängers ist kein gültiges HTTP{detail}. Prüfen Sie, was unter der URL antwortet.",

  delivery_stored: "Sie ist gespeichert und wurde noch nicht gesendet.",
  delivery_again: "Sie wird noch einmal gesendet.",
  delivery_attempted: "Ein Versuch läuft gerade.",
  delivery_tried_one: "Es gab einen Versuch.",
  delivery_tried_other: "Es gab {n} Versuche.",
  delivery_schedule_over: "Weitere Versuche sind nicht vorgesehen.",
  delivery_lifetime_ends: "Vor dem Ende ihrer Lebensdauer ist kein Versuch mehr möglich.",
  delivery_lifetime_ends_at: "Vor dem Ende ihrer Lebensdauer ({time}) ist kein Versuch mehr möglich.",
  delivery_lifetime_over: "Ihre Lebensdauer endete, bevor ein Versuch möglich war.",
  delivery_lifetime_over_at: "Ihre Lebensdauer endete am {time}, bevor ein Versuch möglich war.",
  delivery_unreadable: "Das Ereignis oder die Integration war aus der Datenbank nicht zu lesen.",
  delivery_skipped: "Als das Ereignis kam, war die Integration ausgeschaltet. Deshalb wurde nichts gesendet.",
  delivery_gone: "Der Empfänger hat am {time} mit 410 Gone geantwortet: Die Integration wurde ausgeschaltet.",
  delivery_gone_other:
    "Der Empfänger hat auf eine andere Zustellung mit 410 Gone geantwortet. Deshalb wurde die Integration ausgeschaltet.",
  delivery_deleted: "Die Integration wurde gelöscht, bevor diese Zustellung bestätigt war.",
  delivery_disabled: "Die Integration wurde ausgeschaltet, bevor diese Zustellung bestätigt war.",
  delivery_call_ended: "Der Ruf ist beendet und wird deshalb nicht mehr gesendet.",
  delivery_right_lost: "Wer die Integration angelegt hat, hat kein Recht mehr auf diese Ereignisse.",

  remedy_first: "Der erste Versuch ist am {time} fällig.",
  remedy_first_soon: "Der erste Versuch ist bald fällig.",
  remedy_attempt: "Versuch {n} ist am {time} fällig.",
  remedy_attempt_soon: "Versuch {n} ist bald fällig.",
  remedy_attempt_asked:
    "Versuch {n} ist am {time} fällig, {wait} nach dieser Antwort: Ihr Retry-After wird eingehalten, bis zu {most}.",
  remedy_under_way: "Endet der Prozess, bevor das Ergebnis gespeichert ist, folgt ein weiterer Versuch.",
  remedy_arrived: "Nichts: Sie ist angekommen.",
  remedy_nothing: "Es wird nichts gesendet.",
  remedy_nothing_more: "Es wird nichts mehr gesendet.",
  remedy_deleted: "Die Integration wurde gelöscht.",
  remedy_too_late: "Sie käme zu spät, um noch nützlich zu sein.",
  remedy_manual: "Die Integration wurde von Hand ausgeschaltet.",
  remedy_gone: "Die Integration ist ausgeschaltet, weil ihr Empfänger mit 410 Gone geantwortet hat.",
  remedy_failing: "Die Integration ist ausgeschaltet, weil ihr Empfänger zu lange nichts bestätigt hat.",
  remedy_resend:
    "Sie können diese Zustellung noch einmal senden oder alles nachholen, was der Integration seit einem Zeitpunkt fehlt.",
  remedy_resend_owner:
    "Sie können diese Zustellung noch einmal senden oder alles seit einem Zeitpunkt nachholen. Um zu sehen, ob der Empfänger jetzt funktioniert, senden Sie zuerst ein Testereignis.",
  remedy_probe:
    "Versuchen Sie es mit einer Zustellung: Wird sie bestätigt, schaltet das die Integration ein. Oder schalten Sie die Integration selbst ein. Senden Sie danach diese Zustellung noch einmal, oder holen Sie alles seit einem Zeitpunkt nach.",
  remedy_probe_owner:
    "Versuchen Sie es noch einmal: Das sendet das neueste Ereignis, das nicht bestätigt wurde, und schaltet die Integration ein, wenn es bestätigt wird. Senden Sie danach diese Zustellung noch einmal, oder holen Sie alles seit einem Zeitpunkt nach.",
  remedy_enable:
    "Schalten Sie sie ein. Senden Sie danach diese Zustellung noch einmal, oder holen Sie alles seit einem Zeitpunkt nach.",
  remedy_enable_owner:
    "Schalten Sie sie ein. Senden Sie danach diese Zustellung noch einmal, oder holen Sie alles seit einem Zeitpunkt nach.",
  remedy_right_back: "Ist das Recht wieder da, senden Sie diese Zustellung noch einmal.",
  remedy_right_back_owner: "Ist das Recht wieder da, senden Sie diese Zustellung noch einmal.",
  remedy_try_late: "Um zu sehen, ob der Empfänger sie jetzt annimmt, senden Sie sie noch einmal.",
  remedy_try_late_owner: "Um zu sehen, ob der Empfänger sie jetzt annimmt, senden Sie sie noch einmal.",

  url_not_a_url: "Die URL muss eine vollständige http- oder https-URL sein.",
  url_scheme: "Die URL muss mit http:// oder https:// beginnen.",
  url_too_long: "Die URL darf höchstens {most} Zeichen lang sein.",
  url_userinfo: "Die URL darf weder Benutzernamen noch Passwort enthalten.",
  url_fragment: "Die URL darf kein Fragment (#...) enthalten.",
  url_refused_address:
    "Die URL muss zu einer öffentlichen Adresse führen; {address} ist privat oder reserviert und nicht eigens erlaubt.",

  missing_never_published:
    "Ein Ereignis {id} wurde hier nie veröffentlicht: Die Kennung ist falsch oder stammt aus einer anderen Datenbank.",
  missing_no_longer_retained:
    "Das Ereignis ist von {time}; es wurde mit seinen Zustellungen nach Ablauf der Aufbewahrung (retention) gelöscht.",
  missing_created_later: "Die Integration wurde um {time} angelegt, nach dem Ereignis.",
  missing_other_building: "Die Integration bekommt Ereignisse von {scope}; dieses Ereignis ist von {of}.",
  missing_no_binding: "Die Integration ist nicht an {type} ({action}) gebunden, nur an {bound}.",
  missing_changed_later:
    "Die Integration passt jetzt zu dem Ereignis, aber nicht, als es veröffentlicht wurde: Sie wurde zuletzt um {time} geändert.",

  detail_too_much: "Der Betreiber gibt diesem Client von diesen Ereignissen nicht mehr als `{most}`.",
  text_too_long: "Der Text darf höchstens {most} Zeichen lang sein.",
  text_characters: "Der Text darf keine Steuerzeichen enthalten, ein Name auch keine Zeilenumbrüche.",

  error_no_building: "Es gibt kein Gebäude {id}, das Sie verwalten dürfen.",
  error_no_tenant: "Es gibt keinen Mieter {id}, den Sie verwalten dürfen.",
  error_unknown_integration: "Es gibt keine Integration {id}.",
  error_unknown_delivery: "Es gibt keine Zustellung {id}.",
  error_version: "Integration {id} wurde inzwischen geändert. Laden Sie die Seite neu, und ändern Sie sie noch einmal.",
  error_limit_building:
    "Für Gebäude {id} gibt es schon {limit} Integrationen, mehr sind nicht erlaubt (Einstellung integrationsPerScope). Löschen Sie eine, oder bitten Sie den Betreiber um mehr.",
  error_limit_tenant:
    "Für Mieter {id} gibt es schon {limit} Integrationen, mehr sind nicht erlaubt (Einstellung integrationsPerScope). Löschen Sie eine, oder bitten Sie den Betreiber um mehr.",
  error_integration_disabled:
    "Die Integration ist ausgeschaltet. Schalten Sie sie zuerst ein, und senden Sie dann noch einmal.",
  error_integration_deleted: "Die Integration wurde gelöscht.",
  error_too_many_integrations:
    "Mehr als {most} Integrationen passen. Suchen Sie genauer, oder nennen Sie eine Integration.",
  error_not_disabled: "So versuchen lässt sich nur eine Integration, die doorhook ausgeschaltet hat.",
  error_nothing_to_send:
    "Die Integration hat keine Zustellung mehr, die nicht bestätigt wurde; es gibt also nichts zu versuchen. Eine Zustellung, die beim Ausschalten gerade gesendet wurde, lässt sich versuchen, sobald ihr Ergebnis gespeichert ist. Sonst schalten Sie sie ein.",
  error_key_reused: "Dieses Formular wurde schon mit anderem Inhalt gesendet. Laden Sie es neu.",
  error_key_in_use: "Dieses Formular wird gerade schon bearbeitet. Versuchen Sie es gleich noch einmal.",
  error_client_exists: "Einen Client {id} gibt es schon. Wählen Sie eine andere Id, oder lassen Sie sie leer.",
  error_unknown_client: "Beim Dienst ist kein Client {id} registriert. Die des Verzeichnisses werden dort verwaltet.",
  error_public_client:
    "Client {id} hat kein Geheimnis: Er ist öffentlich und nutzt PKCE, oder er signiert mit seinen Schlüsseln.",
  error_publisher_closed:
    "Der Dienst nimmt keine Ereignisse mehr an, und keines von diesen wurde gespeichert. Senden Sie sie noch einmal, wenn er wieder läuft.",

  error_body_too_large: "Die Anfrage ist zu groß: Höchstens {limit} KiB werden angenommen.",
  error_body_broken_off: "Die Anfrage brach vor ihrem Ende ab. Senden Sie sie noch einmal.",
  error_body_encoded:
    "Der Inhalt der Anfrage hat ein Content-Encoding, das hier nicht unterstützt wird. Senden Sie ihn unkomprimiert.",
  error_body_not_utf8: "Der Inhalt der Anfrage ist kein UTF-8-Text.",
  error_body_too_slow: "Die Anfrage kam zu langsam an. Senden Sie sie noch einmal.",
  error_nothing_here: "Unter dieser Adresse gibt es nichts.",
  error_method: "Hier geht nur {allow}.",
  error_internal:
    "Im Dienst ist etwas schiefgegangen. Mit der Anfrage ist alles in Ordnung; ihre Nummer steht im Protokoll des Dienstes.",
  error_stopped: "Der Dienst wurde beendet.",
  error_answer_lost:
    "Die Antwort des Speichers ging verloren. Die Anfrage kann ausgeführt worden sein oder nicht: Sehen Sie nach, bevor Sie es noch einmal versuchen.",
  error_carried_out_in_part:
    "Der Speicher hat einen Teil der Anfrage ausgeführt, der bestehen bleibt. Versuchen Sie es gleich noch einmal: Das erledigt den Rest.",
  error_unreadable:
    "Etwas Gespeichertes ist nicht lesbar. Nichts wurde geändert, und ein neuer Versuch hilft nicht: Das Protokoll des Dienstes nennt es und sagt, was zu tun ist.",
  error_directory:
    "Das Benutzerverzeichnis hat eine Antwort gegeben, die der Dienst nicht verwenden kann. Nichts wurde geändert, und ein neuer Versuch hilft nicht: Das Protokoll des Dienstes sagt, was an der Antwort falsch ist.",
  error_directory_unavailable:
    "Der Dienst erreicht das Benutzerverzeichnis nicht. Nichts wurde geändert. Versuchen Sie es gleich noch einmal.",
  error_disk_full:
    "Der Datenträger für den Speicher des Dienstes ist voll. Nichts wurde geändert. Versuchen Sie es noch einmal, wenn Betreiber Platz geschaffen haben.",
  error_read_only:
    "Der Speicher des Dienstes nimmt gerade keine Änderungen an. Nichts wurde geändert. Versuchen Sie es gleich noch einmal.",
  error_storage:
    "Der Speicher des Dienstes funktioniert gerade nicht. Nichts wurde geändert. Versuchen Sie es gleich noch einmal."
}
