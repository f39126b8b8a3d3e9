/**
 * The flags that say what is tested and by what means: the same for `run`, `doctor` and `replay`.
 */
import { DurationText } from "@doorhook/core"
import { Config } from "effect"
import { Flag } from "effect/cli"
import { defaultMaxTime, defaultSettle } from "../record/SuiteOptions.ts"
import { secretVariable } from "../report/Rerun.ts"

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.withMetavar(metavar), Flag.optional)

const duration = (name: string, fallback: number, description: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(description),
    Flag.withMetavar("DURATION"),
    Flag.withSchema(DurationText.DurationText),
    Flag.withDefault(fallback)
  )

export const targetFlags = {
  url: Flag.String("url").pipe(
    Flag.withDescription(
      "The receiver's URL: events are posted to it. Port 0 is any that is free, for --spawn with --port-env. A second one is for the tenant profile"
    ),
    Flag.withMetavar("URL"),
    Flag.atLeast(1)
  ),
  probe: text("probe", "PROBE", "How effects are counted: http:URL, exec:CMD, log:FILE:REGEX or sink:PORT"),
  restartCmd: text("restart-cmd", "CMD", "Ends the receiver if it runs, and starts it in the background"),
  killCmd: text("kill-cmd", "CMD", "Kills the receiver at once (SIGKILL)"),
  readyUrl: text("ready-url", "URL", "Answers 2xx once the receiver is ready; else a connection is enough"),
  pauseCmd: text("pause-cmd", "CMD", "Holds the receiver still (SIGSTOP)"),
  resumeCmd: text("resume-cmd", "CMD", "Lets it go on (SIGCONT)"),
  advanceCmd: text("advance-cmd", "CMD", "Moves the receiver's clock by ADVANCE_SECONDS, for --profile clock"),
  controlUrl: text("control-url", "URL", "POST URL/double?id=... makes the receiver record one more effect"),
  spawn: text("spawn", "CMD", "Starts the receiver, and operates it: instead of the commands above"),
  portEnv: text("port-env", "NAME", "The variable in which a spawned receiver finds the port of --url"),
  secret: Flag.Redacted("secret").pipe(
    Flag.withDescription(`Signs what is sent: the receiver's whsec_ secret. Better in ${secretVariable}`),
    Flag.withFallbackConfig(Config.Redacted(secretVariable)),
    Flag.optional
  ),
  secretFile: Flag.FileText("secret-file").pipe(
    Flag.withDescription("The same, from a file"),
    Flag.withMetavar("FILE"),
    Flag.optional
  ),
  level: Flag.Int("level").pipe(
    Flag.withDescription(
      "1 the URL alone, 2 with a probe, 3 with a restart or kill hook too; by default the highest that flags give means for. What a control URL offers to restart or kill counts with --level 3"
    ),
    Flag.optional
  ),
  profile: Flag.String("profile").pipe(
    Flag.withDescription("Tests these besides: signed, tenant, clock, load"),
    Flag.withMetavar("NAMES"),
    Flag.atLeast(0)
  ),
  peakRate: text("peak-rate", "RATE", "What the receiver is made for, for --profile load: 50/s, or 3000/m"),
  ack: Flag.Literals("ack", ["200", "2xx"]).pipe(
    Flag.withDescription("Which statuses acknowledge: 200 alone (the default), as the interface says, or any 2xx"),
    Flag.withDefault("200")
  ),
  deadline: duration(
    "deadline",
    5_000,
    "How long the receiver has to acknowledge; 5s by default, as the interface says"
  ),
  settle: duration("settle", defaultSettle, "How long effects are waited for after an acknowledgement; 10s by default"),
  dedupKey: Flag.Literals("dedup-key", ["both", "header", "body"]).pipe(
    Flag.withDescription(
      "Which key for dropping duplicates is stressed: webhook-id (header), data.id (body), or both together"
    ),
    Flag.withDefault("both")
  ),
  seed: Flag.Int("seed").pipe(
    Flag.withDescription("What random histories are drawn from; the same seed gives the same histories"),
    Flag.optional
  ),
  maxTime: duration(
    "max-time",
    defaultMaxTime,
    "How long the whole run may take; 2m by default. Waits are shorter where it is"
  ),
  report: Flag.String("report").pipe(
    Flag.withDescription("Writes reports to files: json=FILE,html=FILE,...; also junit, md, har, statement and badge"),
    Flag.withMetavar("KIND=FILE"),
    Flag.atLeast(0)
  ),
  cases: Flag.String("cases").pipe(
    Flag.withDescription("Where histories that fail are stored; .conformance/cases by default"),
    Flag.withMetavar("FOLDER"),
    Flag.withDefault(".conformance/cases")
  ),
  owned: Flag.Boolean("i-own-this-target").pipe(
    Flag.withDescription("Allows a receiver that is not on this machine or a private network: it is yours to test"),
    Flag.withDefault(false)
  )
}
