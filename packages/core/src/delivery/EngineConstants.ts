/**
 * The fixed numbers of the engine, with their reasons. Those of one algorithm stand with it, as in `Linger`.
 * `DeliverySettings` has those that a host can set. Durations are in milliseconds.
 */

// Publications.

/** A transaction takes no more calls once it has this many events: a larger one would delay the calls behind it. */
export const publishBatch = 250

/** A transaction with at least this many events does not linger: more would save little. */
export const enoughEvents = 32

/** Memory of a waiting event in addition to its data, in bytes: an estimate. */
export const eventOverhead = 256

/** Pause before a call is repeated whose idempotency key another process uses now: the length of a slow transaction. */
export const busyKeyPause = 100

/** How long a call waits for room in `waitingBytes`. Longer, its caller would time out and publish the event twice. */
export const publishPatience = 5_000

/** Pause of the commit loop after a defect. */
export const defectPause = 1_000

// Claims.

/** Maximum number of deliveries per claim. A larger claim would delay urgent deliveries. */
export const claimBatch = 150

/** Shortest time between two small claims, which are not worth their cost. */
export const minPollInterval = 20

/**
 * Delay before the next claim if a claim left due deliveries in the store. They were left because there was no room here,
 * or because another worker leased them.
 */
export const recheckDelay = 1_000

/** Early retries per claim, for each request that may be in flight: a full pipeline, not the backlog. */
export const earlyPerRequest = 4

/**
 * Deliveries in memory for each request that may be in flight, when other workers share the store. More would leave the others
 * idle.
 */
export const queuedPerRequest = 16

// Sending.

/** Attempts started in one turn of the event loop. Between turns, other work can run, such as storing a call. */
export const attemptsPerTurn = 16

/** Duration above which an attempt counts as slow, whatever its outcome. */
export const slowAttempt = 1_000

/** A start that is at most this late does not delay the next one under a rate limit, because timers are not exact. */
export const rateSlack = 50

/** Delay of a delivery whose attempt was prevented by something other than its receiver. */
export const retryLater = 5_000

/** Additional delay if the directory failed for the user, so that other users' deliveries are claimed first. */
export const afterOthers = 100

/** Trials of the circuit breaker from one pause to the next, each for a different user: one of them may be the cause. */
export const maxTrials = 3

/** Shortest time between two warnings that this process is overloaded. */
export const busyReportEvery = 60_000

// Recording.

/** How long outcomes are collected before they are recorded together. */
export const recordDelay = 25

/** Outcomes and releases in one transaction. A larger one would delay urgent deliveries. Releases are cheaper. */
export const mostOutcomes = 150
export const mostReleases = 1_500

/** Unrecorded outcomes, as a multiple of `concurrency`: after a crash, their deliveries are sent twice. */
export const maxUnsettled = 16

/** Outcomes of an integration that another transaction has locked, as a multiple of its concurrency, before it is paused. */
export const maxPostponed = 4

/** How long an integration with more such outcomes gets no requests, so that others can continue. */
export const postponedPause = 500

// The store and other workers.

/** Longest time between two heartbeats. */
export const longestBeat = 5_000

/**
 * Time between two heartbeats while the settings differ. Short, because when the other processes end, nobody sends until
 * the next heartbeat.
 */
export const disagreeingBeat = 1_000

/** Longest pause before a store call is repeated: a store that is back is noticed this late. */
export const longestPause = 2_000

/**
 * How long a refused publication counts as a failure of the store. Publications come from outside, so after this time the
 * probe of the store decides. All other operations are repeated until they succeed.
 */
export const refusalCounts = 10_000

/** How long a stored publication proves that the store works, without a probe. */
export const proofCounts = 5_000
