/**
 * doorhook on Node.js.
 */
export * as NodeCrypto from "./NodeCrypto.ts"
export * as NodeNameResolver from "./NodeNameResolver.ts"
export * as UndiciTransport from "./UndiciTransport.ts"
