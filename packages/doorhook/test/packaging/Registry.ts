/**
 * An npm registry for rehearsing a release, which stores published packages in a folder:
 *
 *     node packages/doorhook/test/packaging/Registry.ts FOLDER [--upstream URL]
 *
 * Redirects requests for other packages to the upstream registry. Requests for doorhook's packages are never
 * redirected, because npm must not install a foreign package of the same name.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { json } from "node:stream/consumers"
import { parseArgs } from "node:util"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { upstream: { type: "string", default: "https://registry.npmjs.org/" } }
})
const [folder = "registry"] = positionals

/** Body of a request from `npm publish`, or the stored document with all versions of a package. */
interface Document {
  readonly name: string
  readonly "dist-tags": Readonly<Record<string, string>>
  readonly versions: Readonly<Record<string, object>>
  readonly _attachments?: Readonly<Record<string, { readonly data: string }>>
}

const documentOf = (name: string): string => join(folder, name, "package.json")

const read = (name: string): Document | null =>
  existsSync(documentOf(name)) ? JSON.parse(readFileSync(documentOf(name), "utf8")) : null

/** Stores the archives of a publication, and adds its versions to the earlier versions of the package. */
const keep = ({ _attachments: archives = {}, ...sent }: Document): void => {
  const before = read(sent.name)
  mkdirSync(join(folder, sent.name), { recursive: true })
  for (const [file, { data }] of Object.entries(archives)) {
    writeFileSync(join(folder, sent.name, file.slice(file.lastIndexOf("/") + 1)), data, "base64")
  }
  const all = {
    ...sent,
    "dist-tags": { ...before?.["dist-tags"], ...sent["dist-tags"] },
    versions: { ...before?.versions, ...sent.versions }
  }
  writeFileSync(documentOf(sent.name), JSON.stringify(all, undefined, 2))
}

const isOwn = (name: string): boolean => name === "doorhook" || name.startsWith("@doorhook/")

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname).slice(1)
  const [name = "", archive] = path.split("/-/")
  const answer = (status: number, body: object): void =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  if (request.method === "PUT") {
    return void json(request).then(
      (sent) => {
        keep(Object(sent))
        answer(201, { ok: true })
      },
      () => answer(400, { error: "not JSON" })
    )
  }
  if (archive !== undefined && isOwn(name)) {
    return void response.end(readFileSync(join(folder, name, archive.slice(archive.lastIndexOf("/") + 1))))
  }
  const found = read(name)
  if (found !== null) return answer(200, found)
  if (isOwn(name)) return answer(404, { error: "not found" })
  response.writeHead(302, { location: new URL((request.url ?? "/").slice(1), values.upstream).href }).end()
}).listen(0, "127.0.0.1", () => {
  const address = server.address()
  const port = address !== null && typeof address === "object" ? address.port : 0
  process.stdout.write(`listening on http://127.0.0.1:${port}/\n`)
})
