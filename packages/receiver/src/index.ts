/**
 * `@doorhook/receiver`: a receiver of doorhook's webhooks on any Node.js framework, without dependencies.
 */
export { addressFilter } from "./Addresses.ts"
export { isExpired, parseEvent } from "./Delivery.ts"
export type { Answer, Delivery, ReceivedRequest, WebhookEvent } from "./Delivery.ts"
export { InvalidOption, logProblem, Refusal } from "./Problem.ts"
export type { Problem } from "./Problem.ts"
export { createReceiver } from "./Receiver.ts"
export type { Receiver, ReceiverOptions, ReceiverParts, StandardParts } from "./Receiver.ts"
export { nodeRequest, sendAnswer } from "./Servers.ts"
export type { FastifyHost, FastifyPlugin } from "./Servers.ts"
export { signatureVerifier } from "./Signature.ts"
export type { VerificationFailure } from "./Signature.ts"
export { postgresStore, receiverSchema, sqliteStore } from "./SqlStore.ts"
export type { PostgresClient, PostgresPool, SqliteDatabase } from "./SqlStore.ts"
export { memoryStore } from "./Store.ts"
export type { ClaimedWork, DamagedWork, ReceiverStore } from "./Store.ts"
export type { WorkContext } from "./Worker.ts"
