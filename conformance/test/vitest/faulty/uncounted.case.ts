/**
 * The suite with a probe that returns the count as text, as some database clients do.
 */
import { receiverSuite } from "@doorhook/conformance/vitest"
import { listen } from "@doorhook/testkit/ListeningServer"
import { createServer } from "node:http"

const row = Object.assign({ effects: 0 }, { effects: "0" })

receiverSuite({
  level: 2,
  only: ["R-DUP-02"],
  start: async () => {
    const { close, url } = await listen(
      createServer((request, response) => void request.resume().on("end", () => response.end()))
    )
    return { url: `${url}/hook`, probe: () => row, stop: close }
  }
})
