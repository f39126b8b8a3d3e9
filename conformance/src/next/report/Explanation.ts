/**
 * The explanation of a report in blocks that every form only lays out: the console, HTML, Markdown and JUnit hold no words
 * of their own but headings of columns. Same words, same order everywhere.
 */
import type { Verdict } from "../judgement/Finding.ts"
import type { Report, ReportedAttempt, ReportedRequirement } from "./Report.ts"

/** A part of an explanation. */
export type Block =
  /** A labelled sentence: Expected, Observed, Because, Source, Probably from, Repeated, Cut short, Stored. */
  | { readonly kind: "line"; readonly label: string; readonly text: string; readonly important: boolean }
  /** What was done, step by step; one of the steps and attempts decided. */
  | { readonly kind: "steps"; readonly label: string; readonly steps: ReadonlyArray<StepBlock> }
  /** What to paste: the command that repeats it, the curl command. */
  | { readonly kind: "code"; readonly label: string; readonly text: string }
  /** What was sent and what is stored, where they differ: the members that do. */
  | {
      readonly kind: "difference"
      readonly label: string
      readonly members: ReadonlyArray<{ readonly path: string; readonly sent: string; readonly stored: string }>
    }
  /** What the probe said of the events. */
  | { readonly kind: "effects"; readonly label: string; readonly lines: ReadonlyArray<string> }

export interface StepBlock {
  readonly number: number
  readonly did: string
  readonly attempts: ReadonlyArray<{
    readonly at: string
    readonly sent: string
    readonly got: string
    readonly decides: boolean
    readonly attempt: ReportedAttempt
  }>
  /** Words for attempts that are left out; empty where none is. */
  readonly more: string
}

/** One requirement that needs explaining, with those that probably follow from it folded under it. */
export interface Explained {
  readonly id: string
  readonly verdict: Verdict
  readonly headline: string
  readonly blocks: ReadonlyArray<Block>
  readonly followers: ReadonlyArray<Explained>
}

/** A line of the summary: a requirement that passed, or was left out, with what it rests on. */
export interface Summary {
  readonly family: string
  readonly lines: ReadonlyArray<{
    readonly id: string
    readonly verdict: Verdict
    readonly statement: string
    readonly observed: string
  }>
}

export interface Explanation {
  /** The verdict as a headline, and the claim with what it leaves out. */
  readonly headline: string
  readonly claim: string
  /** Numbers of each verdict, in words. */
  readonly counts: string
  /** How it ended, and why it did not pass; empty where it did. */
  readonly ending: string
  /** Root causes first: FAIL, ERROR, WARN, INCONCLUSIVE, NOT_OBSERVABLE. Those left open for one reason are one entry. */
  readonly explained: ReadonlyArray<Explained>
  readonly summary: ReadonlyArray<Summary>
  readonly notes: ReadonlyArray<string>
}

/** What a report says, in words. */
export declare const explanationOf: (report: Report) => Explanation

/** One requirement alone: for JUnit's test cases, vitest's tests and `replay`. */
export declare const explainRequirement: (requirement: ReportedRequirement, report: Report) => Explained

/** The members of two JSON texts that differ, by their paths. */
export declare const differencesOf: (
  sent: string,
  stored: string
) => ReadonlyArray<{ readonly path: string; readonly sent: string; readonly stored: string }>
