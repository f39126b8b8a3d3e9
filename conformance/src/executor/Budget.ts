/**
 * What parts of a run's time go to what.
 */
export const budget = {
  /** Until random histories of a lane are begun no more. */
  randomUntil: 0.6,
  /** Until cases are begun no more: the rest is for what takes its time, and for the end. */
  beginUntil: 0.75,
  /** Until what comes last is over: effects that are late, the clock, confirming and shortening. */
  endUntil: 0.95,
  /** For confirming and shortening, at most. */
  refine: 0.2,
  /** For waiting for late effects, at most. */
  late: 0.1,
  /** For one operation that sends many events, at most. */
  filler: 0.07,
  /** The same where a history is executed that no run is around. */
  fillerAlone: 0.25
} as const
