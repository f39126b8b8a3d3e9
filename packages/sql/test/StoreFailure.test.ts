import { assert, describe, it } from "@effect/vitest"
import { ConnectionError, SqlError, UnknownError } from "effect/sql/SqlError"
import { reasonOf, storeErrorOf } from "../src/StoreFailure.ts"

const failed = (cause: object) =>
  new SqlError({ reason: new UnknownError({ message: "", cause, operation: "execute" }) })
const disconnected = (cause: object) =>
  new SqlError({ reason: new ConnectionError({ message: "", cause, operation: "execute" }) })

describe("the reason of a store's failure", () => {
  it("is the SQLSTATE's or the result code's", () => {
    const cases: ReadonlyArray<readonly [object, string | undefined]> = [
      [{ code: "53100" }, "disk_full"],
      [{ code: "25006" }, "read_only"],
      [{ code: "55P03" }, "locked"],
      [{ code: "53300" }, "too_many_connections"],
      [{ code: "57P01" }, "unreachable"],
      [{ code: "57P02" }, "unreachable"],
      [{ code: "57P03" }, "unreachable"],
      [{ code: "08006" }, "unreachable"],
      [{ code: "58030" }, "io_error"],
      [{ code: "XX001" }, "damaged"],
      [{ code: "XX002" }, "damaged"],
      [{ code: "22P05" }, undefined],
      [{ errcode: 13 }, "disk_full"],
      [{ errcode: 1_032 }, "read_only"],
      [{ errcode: 778 }, "io_error"],
      [{ errcode: 517 }, "locked"],
      [{ errcode: 6 }, "locked"],
      [{ errcode: 11 }, "damaged"],
      [{ errcode: 26 }, "damaged"],
      [{ errcode: 19 }, undefined],
      [new Error("disk is full"), undefined]
    ]
    for (const [cause, reason] of cases) assert.strictEqual(reasonOf(failed(cause)), reason, JSON.stringify(cause))
  })

  it("is that of an error of the operating system", () => {
    for (const [code, reason] of [
      ["ENOSPC", "disk_full"],
      ["EDQUOT", "disk_full"],
      ["EROFS", "read_only"],
      ["EACCES", "read_only"],
      ["EPERM", "read_only"],
      ["EIO", "io_error"],
      ["ENOENT", undefined]
    ] as const)
      assert.strictEqual(reasonOf(Object.assign(new Error("it failed"), { code })), reason, code)
  })

  it("is `unreachable` for a broken connection, not for a file that can't be opened", () => {
    for (const cause of [{ code: "EPIPE" }, { code: "ECONNRESET" }, new Error("closed")])
      assert.strictEqual(reasonOf(disconnected(cause)), "unreachable")
    assert.isUndefined(reasonOf(disconnected({ errcode: 14 })))
    assert.isUndefined(reasonOf(new TypeError("no SQL error")))
  })

  it("decides the advice", () => {
    const error = storeErrorOf("DeliveryStore.enqueue", failed(Object.assign(new Error("no space"), { code: "53100" })))
    assert.strictEqual(error.reason, "disk_full")
    assert.match(error.message, /: no space\. Nothing was changed; make room on the database's disk/)
  })
})
