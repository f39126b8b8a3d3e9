/**
 * The suite on a receiver that refuses everything in time, so that a requirement of strength SHOULD can't be decided.
 */
import { receiverSuite } from "@doorhook/conformance/vitest"
import { listen } from "@doorhook/testkit/ListeningServer"
import { createServer } from "node:http"

receiverSuite({
  maxTime: 20_000,
  profiles: ["signed"],
  secret: "whsec_c2VjcmV0LW9mLWEtcmVmdXNpbmctcmVjZWl2ZXI=",
  only: ["R-ACK-03", "R-SIG-08"],
  start: async () => {
    const { close, url } = await listen(
      createServer((request, response) => {
        response.statusCode = 503
        request.resume().on("end", () => response.end())
      })
    )
    return { url: `${url}/hook`, stop: close }
  }
})
