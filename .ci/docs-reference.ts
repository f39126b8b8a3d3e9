/**
 * Generates the reference pages from the code: commands, settings, HTTP, error codes, metrics, and the API by typedoc. They
 * are generated for each build of the site and not committed.
 */
import { spawnSync } from "node:child_process"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DeliveryMetrics, NotDeliverable, NotProbed } from "@doorhook/core"
import { createDoorhook } from "doorhook"
import { variables } from "../packages/doorhook/src/config/EnvironmentConfig.ts"
import { facadeCodes } from "../packages/doorhook/src/DoorhookError.ts"
import { parameterFailure } from "../packages/server/src/http/Failures.ts"
import { helpOf, subcommandsIn } from "./help.ts"

const root = new URL("..", import.meta.url).pathname
const folder = join(root, "docs/reference")

const read = (path: string): string => readFileSync(join(root, path), "utf8")
const cell = (text: string): string =>
  text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ").replaceAll(/</g, "&lt;").trim()
const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n")

const write = (name: string, title: string, intro: string, ...parts: ReadonlyArray<string>): void =>
  writeFileSync(join(folder, `${name}.md`), `${[`# ${title}`, intro, ...parts].join("\n\n")}\n`)

// Commands: their help texts.
const describe = async (path: ReadonlyArray<string>): Promise<ReadonlyArray<readonly [string, string]>> => {
  const help = await helpOf(path)
  const own = help.replace(/\nGLOBAL FLAGS\n[^]*?(?=\n[A-Z]|$)/, "").trimEnd()
  const inner = await Promise.all(subcommandsIn(help).map((name) => describe([...path, name])))
  return [[["doorhook", ...path].join(" "), own], ...inner.flat()]
}

const writeCommands = async (): Promise<void> => {
  const pages = await describe([])
  write(
    "commands",
    "Commands",
    "The `--help` of each command. `doorhook --completions bash`, `zsh`, `fish` or `powershell` prints completions for that shell.",
    ...pages.map(([name, text]) => `## ${name}\n\n\`\`\`text\n${text}\n\`\`\``)
  )
}

// Settings: their doc comments.
const fieldsIn = (path: string): ReadonlyArray<ReadonlyArray<string>> =>
  [...read(path).matchAll(/^ {2}\/\*\*([^]*?)\*\/\n {2}(\w+): Schema\.optional/gm)].map(
    ([, comment = "", name = ""]) => {
      const text = comment
        .replaceAll(/^\s*\*\s?/gm, " ")
        .replaceAll(/\s+/g, " ")
        .trim()
      const [, meaning = text, standard = ""] = /^(.*?)\s*Default:? (.*?)\.?$/.exec(text) ?? []
      return [`\`${name}\``, cell(meaning), cell(standard)]
    }
  )

const variableOf = new Map(Object.entries(variables).map(([name, variable]) => [`\`${name}\``, `\`${variable}\``]))

const writeSettings = (): void => {
  const config = "packages/doorhook/src/config"
  write(
    "settings",
    "Settings",
    "The names are those of `createDoorhook` and of the configuration file (`--config`), which also accepts the names of flags (`allow-targets`). Settings of the engine can also be environment variables of the service. There, lists are separated by commas, and retry schedules are written `access_log=5s,30s;call=1s`. `DOORHOOK_RESOURCE_TYPES`, `DOORHOOK_SCOPES` and `DOORHOOK_APPEARANCE` are JSON.",
    "## Of the engine",
    table(
      ["setting", "variable", "meaning", "default"],
      [...fieldsIn(`${config}/EngineConfig.ts`), ...fieldsIn(`${config}/SurfaceConfig.ts`)].map(
        ([name = "", ...more]) => [name, variableOf.get(name) ?? "", ...more]
      )
    ),
    "## Of `doorhook serve` alone",
    table(["setting", "meaning", "default"], fieldsIn(`${config}/ServeConfig.ts`))
  )
}

// Error codes: found where failures are created.
const writeErrors = (): void => {
  const codes = new Map<string, Set<string>>()
  for (const path of globSync("packages/server/src/**/*.ts", { cwd: root })) {
    for (const [, status = "", code = "", title = ""] of read(path).matchAll(
      /(?:failure\(\s*|\[)(\d{3}),\s*(?:\{\s*code: )?"(\w+)",\s*(?:title: )?"([^"]+)"/g
    )) {
      codes.set(code, (codes.get(code) ?? new Set()).add(`${status} ${title}`))
    }
  }
  const parameter = parameterFailure("", "")
  for (const { code, title } of parameter.errors) codes.set(code, new Set([`${parameter.status} ${title}`]))
  for (const code of NotDeliverable.fields.why.literals) codes.set(code, new Set(["409 Not deliverable"]))
  for (const code of NotProbed.fields.why.literals) codes.set(code, new Set(["409 Not probed"]))
  const known = [...codes].toSorted(([a], [b]) => (a < b ? -1 : 1))
  write(
    "errors",
    "Error codes",
    "Codes of `/v4` and the operator API: `errors[].code` in a response, and `code` of the Error with which calls of `createDoorhook` reject. The message says what to do. OAuth endpoints return the codes of RFC 6749.",
    table(
      ["code", "status and title"],
      known.map(([code, titles]) => [`\`${code}\``, cell([...titles].join("; "))])
    ),
    "## Of `createDoorhook` itself",
    table(
      ["code", "`status` of the Error", "meaning"],
      Object.entries(facadeCodes).map(([code, { meaning, status }]) => [`\`${code}\``, String(status), cell(meaning)])
    )
  )
}

// Metrics and HTTP: read from a running instance.
const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
const entries = (value: unknown): ReadonlyArray<[string, unknown]> =>
  typeof value === "object" && value !== null ? Object.entries(value) : []
const text = (value: unknown): string => (typeof value === "string" ? value : "")

const writeRunning = async (): Promise<void> => {
  const doorhook = await createDoorhook({
    database: "memory",
    logger: false,
    directory: { client: () => null, authenticate: () => null, administers: () => true, isTenant: () => false }
  })
  const get = async (path: string): Promise<string> =>
    (await doorhook.fetch(new Request(`http://localhost${path}`), { remoteAddress: "127.0.0.1" })).text()
  await doorhook.publish({ resource_type: "call", action: "create", building_id: 1, data: { id: 1 } })

  const metrics = await get("/metrics")
  const kinds = new Map([...metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", kind = ""]) => [name, kind]))
  const found = new Map([...metrics.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name = "", help = ""]) => [name, help]))
  for (const metric of Object.values(DeliveryMetrics)) {
    const id = text(member(metric, "id"))
    if (id === "" || found.has(id)) continue
    found.set(id, text(member(metric, "description")))
    kinds.set(id, text(member(metric, "type")).toLowerCase())
  }
  write(
    "metrics",
    "Metrics",
    "Metrics at `GET /metrics`, in Prometheus text format. Counters exist from the start, with value 0.",
    table(
      ["metric", "kind", "meaning"],
      [...found]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, help]) => [`\`${name}\``, kinds.get(name) ?? "", cell(help)])
    )
  )

  const openApi: unknown = JSON.parse(await get("/openapi.json"))
  mkdirSync(join(root, "docs/public"), { recursive: true })
  writeFileSync(join(root, "docs/public/openapi.json"), JSON.stringify(openApi, null, 2))
  const operations = entries(member(openApi, "paths")).flatMap(([path, methods]) =>
    entries(methods).map(([method, operation]) => [
      `\`${method.toUpperCase()} ${path}\``,
      cell(text(member(operation, "summary")) || text(member(operation, "description"))),
      entries(member(operation, "responses"))
        .map(([status]) => status)
        .join(", ")
    ])
  )
  write(
    "http",
    "HTTP",
    "The public API, from its OpenAPI 3.1 description, which a running service serves at `GET /openapi.json`. The operator API is in [the service](../service.md).",
    table(["call", "does", "answers"], operations)
  )
  await doorhook.close()
}

const writeApi = (): void => {
  const { status, stdout } = spawnSync(
    join(root, "docs/node_modules/.bin/typedoc"),
    ["--options", join(root, "docs/.vitepress/typedoc.json")],
    { cwd: join(root, "docs"), encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }
  )
  if (status !== 0) throw new Error(`typedoc failed: ${stdout}`)
}

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
writeSettings()
writeErrors()
await writeRunning()
await writeCommands()
writeApi()
process.stdout.write("reference written to docs/reference\n")
