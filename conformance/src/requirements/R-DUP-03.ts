/**
 * The same event in other clothes: everything about a request may differ but what it says.
 */
import { exactlyOnce, onceAcrossTwins } from "../checks/EachEvent.ts"
import { both } from "../checks/Finding.ts"
import { accessLog, call } from "../history/Events.ts"
import type { Variation } from "../history/History.ts"
import { again, makeCase, newEvent, retry } from "../history/History.ts"
import { define } from "./Requirement.ts"

const ways: ReadonlyArray<readonly [title: string, how: ReadonlyArray<Variation>]> = [
  ["byte for byte", []],
  ["with another attempt number", ["next_attempt"]],
  ["with another timestamp and signature", ["resigned"]],
  ["with other whitespace", [...retry, "reencoded"]],
  ["with its members in another order", [...retry, "reordered"]],
  ["with its texts escaped", [...retry, "escaped"]],
  ["in chunks", [...retry, "chunked"]],
  ["slowly", [...retry, "slow"]],
  ["over a new connection", [...retry, "new_connection"]],
  ["over a connection of its own", [...retry, "close"]],
  ["with header names in upper case", [...retry, "upper_headers"]],
  ["with header names in title case", [...retry, "title_headers"]],
  ["with a charset", [...retry, "content_type_charset"]],
  ["with another case of the content type", [...retry, "content_type_case"]]
]

export const requirement = define({
  id: "R-DUP-03",
  level: 2,
  statement: "An event is known again however it is encoded: by its id, not by its bytes, headers or connection.",
  source: "interface document, section 6, rule 4; Standard Webhooks, webhook-id",
  because:
    "A retry carries another attempt number, timestamp and signature, and comes over another connection; a proxy may change the rest.",
  expected: () => "one effect, whatever differs between the attempts of an event but its ids",
  needs: ["effects"],
  presupposes: ["R-DUP-01", "R-DUP-02", "R-LOS-01"],
  directed: [
    ...ways.flatMap(([title, how]) => [
      makeCase("state", `an access log again ${title}`, newEvent(accessLog), again(0, how)),
      makeCase("state", `a call again ${title}`, newEvent(call), again(0, how))
    ]),
    makeCase(
      "state",
      "the first attempt stamped a minute before the retry",
      newEvent(accessLog, ["aged"]),
      again(0, retry)
    ),
    makeCase(
      "state",
      "a call whose first attempt was stamped a minute before",
      newEvent(call, ["aged"]),
      again(0, retry)
    ),
    makeCase("state", "other whitespace first, plain then", newEvent(accessLog, ["reencoded"]), again(0, retry)),
    makeCase("state", "every way, one after the other", newEvent(accessLog), ...ways.map(([, how]) => again(0, how)))
  ],
  directedFor: {
    body: [
      makeCase("state", "the same data.id under another webhook-id", {
        k: "twins",
        event: accessLog,
        kind: "same_data_id"
      })
    ]
  },
  check: (trace, terms) => both(onceAcrossTwins(trace, terms), exactlyOnce(trace, terms))
})
