import { DirectoryDocument } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Predicate, Redacted, Result } from "effect"
import { directoryValue, readDirectory, includes } from "./fixtures.ts"

/** Returns the problems of a directory as lines. */
const problems = (value: unknown): ReadonlyArray<string> => {
  const read = DirectoryDocument.fromText(JSON.stringify(value))
  return Result.isFailure(read) ? read.failure.problems.map(({ pointer, detail }) => `${pointer} ${detail}`) : []
}

const [acme] = directoryValue.clients
const [admin] = directoryValue.users

describe("DirectoryDocument", () => {
  it("reads a directory, redacts its secrets, and fills in missing lists", () => {
    const { clients, users, buildings, tenants } = readDirectory(directoryValue)
    assert.deepStrictEqual<unknown>(
      clients.map(({ id, secret }) => [id, Predicate.isNotNullish(secret) ? Redacted.value(secret) : null]),
      [
        ["c1", "s1"],
        ["c2", "s:2 /+%é"],
        ["p1", null]
      ]
    )
    assert.deepEqual<unknown>(
      users.map(({ login, buildings, tenants }) => [login, buildings, tenants]),
      [
        ["admin@example.com", [1], []],
        ["tenant@example.com", [], [101]]
      ]
    )
    includes(buildings[0], { time_zone: "Europe/Berlin" })
    includes(tenants[0], { building_id: 1, unit: { id: 7, label: "4B" } })
  })

  it("fills in optional members and ignores unknown ones", () => {
    const { buildings, tenants } = readDirectory({
      clients: [],
      users: [{ ...admin, nickname: "Ann" }],
      buildings: [{ id: 1, name: "North" }],
      tenants: [{ id: 1, building_id: 1 }]
    })
    assert.deepStrictEqual<unknown>(buildings, [{ id: 1, name: "North", time_zone: "UTC", access_points: [] }])
    assert.deepStrictEqual<unknown>(tenants, [{ id: 1, building_id: 1, unit: null }])
  })

  it("names the place of every problem", () => {
    assert.deepStrictEqual<unknown>(
      problems({
        clients: [{ id: "", name: "A", redirect_uris: ["https://a.example/cb", "http://a.example/cb"], secret: "" }],
        users: [{ login: "x" }, { login: "y", password: 7, buildings: [0, "1"] }, "z"],
        buildings: [{ id: 1, name: "N", time_zone: "Mars/Olympus" }]
      }).map((line) => line.replace(/(redirect_uris\/1 must be).*/, "$1 ...")),
      [
        "/clients/0/id must be a value with a length of at least 1",
        "/clients/0/secret must be a value with a length of at least 1",
        "/clients/0/redirect_uris/1 must be ...",
        "/users/0/password is missing; it must be a text",
        "/users/1/password must be a text",
        "/users/1/buildings/0 must be a positive whole number",
        "/users/1/buildings/1 must be a number",
        "/users/2 must be an object",
        "/buildings/0/time_zone must be the IANA name of a time zone, like Europe/Berlin"
      ]
    )
    assert.deepStrictEqual<unknown>(problems({}), [
      "/clients is missing; it must be a list of OAuth clients",
      "/users is missing; it must be a list of users"
    ])
  })

  it("finds duplicate entries and dangling references", () => {
    assert.deepStrictEqual<unknown>(
      problems({
        clients: [acme, { ...acme, name: "Again" }],
        users: [admin, { login: "admin@example.com", password: "x", buildings: [9], tenants: [101, 9] }],
        buildings: [...directoryValue.buildings, ...directoryValue.buildings],
        tenants: [...directoryValue.tenants, { id: 102, building_id: 9 }, { id: 101, building_id: 1 }]
      }),
      [
        "/clients/1/id is the same as /clients/0/id",
        "/users/1/login is the same as /users/0/login",
        "/buildings/1/id is the same as /buildings/0/id",
        "/tenants/2/id is the same as /tenants/0/id",
        "/users/1/buildings/0 must be the id of one of the buildings",
        "/users/1/tenants/1 must be the id of one of the tenants",
        "/tenants/1/building_id must be the id of one of the buildings"
      ]
    )
  })

  it("reports where a text is not JSON, without quoting it", () => {
    const read = DirectoryDocument.fromText('{\n  "users": [{"password": "correct horse" "buildings": []}]\n}')
    if (Result.isSuccess(read)) return assert.fail("it was read")
    assert.match(read.failure.message, /^the directory is not JSON: look at line 2, column \d+$/)
    assert.notInclude(read.failure.message, "correct")
  })

  it("reveals no secret in a problem", () => {
    const text = problems({
      clients: [{ ...acme, secret: ["hunter2"] }],
      users: [{ login: "x", password: ["hunter2"] }]
    })
    assert.lengthOf(text, 2)
    assert.notInclude(text.join(), "hunter2")
  })
})
