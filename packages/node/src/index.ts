/**
 * doorhook on Node.js.
 */
export * as EgressProxy from "./EgressProxy.ts"
export * as NameLookup from "./NameLookup.ts"
export * as NodeCrypto from "./NodeCrypto.ts"
export * as NodeNameResolver from "./NodeNameResolver.ts"
export * as UndiciTransport from "./UndiciTransport.ts"
