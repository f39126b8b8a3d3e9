/**
 * How many attempts fail before an integration is disabled, however long that takes. Core's own number is under test: this
 * is the same once more.
 */
export const leastFailedAttempts = 10
