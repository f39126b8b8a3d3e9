/**
 * Polyfills for the suite's single file on Node.js before 20.12.
 */
{
  const add = (prototype, name, value) => {
    if (!(name in prototype)) Object.defineProperty(prototype, name, { value, writable: true, configurable: true })
  }
  const addChanging = (name, change) =>
    add(Array.prototype, name, function (...args) {
      const copy = Array.from(this)
      change(copy, ...args)
      return copy
    })
  addChanging("toSorted", (array, compare) => {
    array.sort(compare)
  })
  addChanging("toReversed", (array) => {
    array.reverse()
  })
  addChanging("toSpliced", (array, ...args) => {
    array.splice(...args)
  })
  addChanging("with", (array, at, value) => {
    array[at < 0 ? array.length + at : at] = value
  })
  add(String.prototype, "toWellFormed", function () {
    return this.replace(/\p{Surrogate}/gu, "\ufffd")
  })
  URL.parse ??= (text, base) => (URL.canParse(text, base) ? new URL(text, base) : null)
  const crypto = require("node:crypto")
  crypto.hash ??= (algorithm, data, encoding = "hex") => crypto.createHash(algorithm).update(data).digest(encoding)
  globalThis.crypto ??= crypto.webcrypto
}
