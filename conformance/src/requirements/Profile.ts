/**
 * Profiles: groups of requirements that are tested when asked for, because they need something of their own.
 */

/** `signed`: a secret. `tenant`: a second URL. `clock`: a hook that moves the clock. `load`: a declared peak rate. */
export const profiles = ["signed", "tenant", "clock", "load"] as const
export type Profile = (typeof profiles)[number]

/** What a requirement needs to be seen. */
export const needs = ["effects", "digest", "stop", "kill", "pause", "advance", "endpoints", "secret", "rate"] as const
export type Need = (typeof needs)[number]

/** What gives it, for whoever lacks it. */
export const howToGive: Readonly<Record<Need, string>> = {
  effects: "a probe (--probe) shows how often an event's effect happened",
  digest: "a probe that answers with a digest shows what was stored",
  stop: "--restart-cmd, --kill-cmd or --spawn lets the suite end the receiver",
  kill: "--kill-cmd or --spawn lets the suite kill the receiver at once; a restart command may end it gently",
  pause: "--pause-cmd with --resume-cmd, or --spawn, lets the suite hold the receiver still",
  advance: "--advance-cmd lets the suite move the receiver's clock",
  endpoints: "a second --url shows whether tenants are kept apart",
  secret: "--secret lets the suite sign what it sends",
  rate: "--peak-rate says what load the receiver is made for"
}
