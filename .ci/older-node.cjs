/**
 * What Node.js 18 lacks of what the one file of the suite uses; Node.js 20 has all of it since 20.12.
 */
{
  const add = (prototype, name, value) => {
    if (!(name in prototype)) Object.defineProperty(prototype, name, { value, writable: true, configurable: true })
  }
  add(Array.prototype, "toSorted", function (compare) {
    return Array.from(this).sort(compare)
  })
  add(Array.prototype, "toReversed", function () {
    return Array.from(this).reverse()
  })
  add(Array.prototype, "toSpliced", function (...args) {
    const copy = Array.from(this)
    copy.splice(...args)
    return copy
  })
  add(Array.prototype, "with", function (at, value) {
    const copy = Array.from(this)
    copy[at < 0 ? copy.length + at : at] = value
    return copy
  })
  add(String.prototype, "toWellFormed", function () {
    return this.replace(/\p{Surrogate}/gu, "\ufffd")
  })
  URL.parse ??= (text, base) => (URL.canParse(text, base) ? new URL(text, base) : null)
  const crypto = require("node:crypto")
  crypto.hash ??= (algorithm, data, encoding = "hex") => crypto.createHash(algorithm).update(data).digest(encoding)
  globalThis.crypto ??= crypto.webcrypto
}
