/**
 * A site with the metadata document of a client that is not registered.
 */
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import { portOf } from "@doorhook/testkit/ListeningServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import type { RequestListener } from "node:http"
import { createServer } from "node:https"
import { join } from "node:path"

const authority = makeAuthority()

/** The site of the maker of a client, which answers with `site.answer`. `caFile` is what its certificate needs. */
export const startSite = Effect.gen(function* () {
  const caFile = join(yield* temporaryFolder, "authority.pem")
  yield* Effect.promise(() => writeFile(caFile, authority.cert))
  const site: { answer: RequestListener; caFile: string; requests: number; url: string } = {
    answer: (_, response) => void response.end(),
    caFile,
    requests: 0,
    url: ""
  }
  const server = createServer({ ...authority.issue("127.0.0.1") }, (request, response) => {
    site.requests++
    site.answer(request, response)
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.promise(async () => {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      })
  )
  site.url = `https://127.0.0.1:${portOf(server)}`
  return site
})
