/**
 * A wall clock of a process that tests can move, by a small library that the process loads first (`LD_PRELOAD`). The
 * monotonic clock is not moved. Needs Linux and a C compiler.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "./Process.ts"

/** Replaces the functions that read the wall clock. They add the nanoseconds in the file `MOVED_CLOCK`. */
const library = `#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t still = 0;
static const volatile int64_t *ahead = &still;

__attribute__((constructor)) static void find(void) {
  const char *name = getenv("MOVED_CLOCK");
  int file = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) ahead = page;
  close(file);
}

int clock_gettime(clockid_t which, struct timespec *at) {
  int failed = (int)syscall(SYS_clock_gettime, which, at);
  if (failed == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) {
    int64_t moved = at->tv_sec * 1000000000LL + at->tv_nsec + *ahead;
    at->tv_sec = moved / 1000000000LL;
    at->tv_nsec = moved % 1000000000LL;
  }
  return failed;
}

int gettimeofday(struct timeval *at, void *zone) {
  (void)zone;
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  at->tv_sec = exact.tv_sec;
  at->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  if (at != NULL) *at = exact.tv_sec;
  return exact.tv_sec;
}
`

export interface MovedClock {
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string>>
  /** Sets how far the clock is ahead of the machine's, in milliseconds. */
  readonly move: (ahead: number) => void
}

/** Makes a clock that agrees with the machine's until it is moved. Fails without a compiler. */
export const movedClock: Effect.Effect<MovedClock, never, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const [source, shared, ahead] = ["clock.c", "clock.so", "ahead"].map((name) => join(folder, name))
  if (source === undefined || shared === undefined || ahead === undefined) return yield* Effect.die("no names")
  writeFileSync(source, library)
  const { error, status, stderr } = spawnSync("gcc", ["-O1", "-shared", "-fPIC", "-o", shared, source], {
    encoding: "utf8"
  })
  if (status !== 0) return yield* Effect.die(new Error(`gcc: ${error?.message ?? stderr}`))
  const move = (millis: number): void => {
    const nanoseconds = Buffer.alloc(8)
    nanoseconds.writeBigInt64LE(BigInt(millis) * 1_000_000n)
    // Written in place, because the process has mapped the file.
    writeFileSync(ahead, nanoseconds, { flag: "r+" })
  }
  writeFileSync(ahead, Buffer.alloc(8))
  return { env: { LD_PRELOAD: shared, MOVED_CLOCK: ahead }, move }
})

/** Whether clocks can be moved. If not, a line says what is skipped. */
export const canMoveClocks = (what: string): boolean => {
  const isPossible = process.platform === "linux" && spawnSync("gcc", ["--version"]).status === 0
  if (!isPossible) process.stderr.write(`SKIPPED: ${what}: clocks can be moved only on Linux with gcc\n`)
  return isPossible
}
