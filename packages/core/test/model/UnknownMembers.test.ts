import { unknownMembers } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"

const directory = {
  clients: [{ id: "c1", secrt: "s1", name: "Acme", redirect_uris: [] }],
  users: [{ login: "a@b.example", password: "hidden", building: [1], shoe_size: 44 }],
  buildings: [{ id: 1, name: "North", timezone: "UTC", access_points: [{ id: 1, name: "Door", nmae: "Dor" }] }],
  tenants: [{ id: 1, building_id: 1, unit: { id: 7, label: "4B", lable: "4C" } }],
  tennants: []
}

describe("a directory file with unknown members", () => {
  it("has a problem for each of them, with the probable name and without values", () => {
    const told = unknownMembers(directory).map(({ detail, pointer }) => `${pointer} ${detail}`)
    const likes: ReadonlyArray<readonly [string, string]> = [
      ["/clients/0/secrt", "secret"],
      ["/users/0/building", "buildings"],
      ["/buildings/0/timezone", "time_zone"],
      ["/buildings/0/access_points/0/nmae", "name"],
      ["/tenants/0/unit/lable", "label"],
      ["/tennants", "tenants"]
    ]
    for (const [pointer, meant] of likes) {
      assert.include(told, `${pointer} is unknown and was ignored; did you mean ${meant}?`)
    }
    assert.include(
      told,
      "/users/0/shoe_size is unknown and was ignored; known members: login, password, buildings, tenants"
    )
    assert.lengthOf(told, likes.length + 1)
    assert.notMatch(told.join(), /s1|hidden|44|Dor\b/)
  })
})
