/**
 * What doorhook needs of PostgreSQL beyond standard SQL: wake signals, locks that end with a transaction, and the id up
 * to which a list is complete. Statements use them by functions in the schema, which `Switches` installs. Engines that
 * are compatible with PostgreSQL may lack NOTIFY or advisory locks; other forms of the functions do without them.
 */

/** Number of rows of a class of locks. Two keys may share a row, and then exclude each other needlessly. */
const buckets = 65_536

/** Parameters of the functions on locks, and of those on lists. */
const [ofLock, ofList] = ["its_class integer, its_key integer", "its_class integer, its_last bigint"]

/** Advisory locks. PostgreSQL inlines most of these functions. */
const advisoryLocks: ReadonlyArray<string> = [
  `hold(${ofLock}) RETURNS void LANGUAGE sql AS $$ SELECT pg_advisory_xact_lock(its_class, its_key) $$`,
  `try_hold(${ofLock}) RETURNS boolean LANGUAGE sql AS $$ SELECT pg_try_advisory_xact_lock(its_class, its_key) $$`,
  `announce(${ofList}) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock_shared(its_class, (its_last & 2147483647)::integer) $$`,
  // The key of a lock is the low 31 bits of an announced id.
  `complete_to(${ofList}) RETURNS bigint LANGUAGE sql AS $$
    SELECT least(its_last, min(its_last - ((its_last - l.objid::bigint) & 2147483647))) FROM pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.classid = its_class::oid AND l.objsubid = 2
      AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()) $$`
]

const keepRow = `INSERT INTO locks AS l (class, key) VALUES (its_class, its_key & ${buckets - 1}) ON CONFLICT DO NOTHING`

const lockRow = (key: string, how: string): string =>
  `PERFORM 1 FROM (SELECT 1 FROM locks AS l WHERE l.class = its_class AND l.key = ${key} FOR ${how}) AS locked`

/**
 * Rows in place of advisory locks. A row can't show the id that an open transaction announces, so announcing
 * transactions share one of two gates, the locks 0 and 1 of the class. While a gate is free, no transaction that passed
 * it is open. An epoch ends when a reader writes the next one, whose transactions pass the other gate. Once the gate of
 * the ended epoch is free, the list is complete up to the last id at the end of that epoch. An open transaction thus
 * holds back what was published while it was open, and what follows up to the next read.
 */
const rowLocks: ReadonlyArray<string> = [
  `hold(${ofLock}) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      ${keepRow};
      ${lockRow(`(its_key & ${buckets - 1})`, "UPDATE")};
    END $$`,
  // While another transaction inserts the row, the insertion waits for it.
  `try_hold(${ofLock}) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '5ms' AS $$
    BEGIN
      ${keepRow};
      ${lockRow(`(its_key & ${buckets - 1})`, "UPDATE NOWAIT")};
      RETURN true;
    EXCEPTION WHEN lock_not_available THEN
      RETURN false;
    END $$`,
  `announce(${ofList}) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      seen bigint;
    BEGIN
      LOOP
        SELECT e.epoch INTO STRICT seen FROM epochs AS e WHERE e.class = its_class;
        ${lockRow("(seen & 1)", "KEY SHARE")};
        -- A reader may have ended the epoch before this transaction passed its gate.
        EXIT WHEN seen = (SELECT e.epoch FROM epochs AS e WHERE e.class = its_class);
      END LOOP;
    END $$`,
  `complete_to(${ofList}) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
      known epochs;
    BEGIN
      IF try_hold(its_class, 2) THEN
        SELECT * INTO STRICT known FROM epochs AS e WHERE e.class = its_class;
        IF try_hold(its_class, ((known.epoch + 1) & 1)::integer) THEN
          IF try_hold(its_class, (known.epoch & 1)::integer) THEN
            known.complete := its_last;
          ELSE
            known.complete := known.ended_at;
            known.epoch := known.epoch + 1;
          END IF;
          known.ended_at := its_last;
          UPDATE epochs AS e SET complete = known.complete, ended_at = known.ended_at, epoch = known.epoch
            WHERE e.class = its_class;
        END IF;
      END IF;
      RETURN (SELECT e.complete FROM epochs AS e WHERE e.class = its_class);
    END $$`
]

/** First keys of locks, each four letters in ASCII. The first three announce ids: "door", "evnt" and "note". */
export const lockClasses = {
  deliveries: 0x646f6f72,
  events: 0x65766e74,
  notifications: 0x6e6f7465,
  /** "idem" */
  idempotencyKeys: 0x6964656d,
  /** "scop" */
  scopes: 0x73636f70,
  /** "ends" */
  cancellations: 0x656e6473,
  /** "call" */
  calls: 0x63616c6c,
  /** "migr" */
  migrations: 0x6d696772
} as const

/**
 * The NOTIFY channel between processes. The payload is the id of a changed integration, or empty if deliveries can be
 * claimed. All applications in a database share its channels, hence the prefix.
 */
export const channel = "doorhook_wake"

const wake = (body: string): string => `wake(payload text) RETURNS void LANGUAGE sql AS $$ ${body} $$`

/** The tables of the forms that need no advisory locks. */
export const lockTables: ReadonlyArray<string> = [
  `CREATE TABLE IF NOT EXISTS locks (class integer NOT NULL, key integer NOT NULL, PRIMARY KEY (class, key))`,
  // ended_at: the last id when the epoch before `epoch` ended. complete: the id up to which the list is complete.
  `CREATE TABLE IF NOT EXISTS epochs (
    class integer PRIMARY KEY,
    epoch bigint NOT NULL,
    ended_at bigint NOT NULL,
    complete bigint NOT NULL
  )`,
  ...[lockClasses.deliveries, lockClasses.events, lockClasses.notifications].flatMap((its) => [
    `INSERT INTO epochs (class, epoch, ended_at, complete) VALUES (${its}, 0, 0, 0) ON CONFLICT DO NOTHING`,
    `INSERT INTO locks (class, key) VALUES (${its}, 0), (${its}, 1) ON CONFLICT DO NOTHING`
  ]),
  `INSERT INTO locks (class, key) VALUES (${lockClasses.migrations}, 0) ON CONFLICT DO NOTHING`
]

/** Locks the row for migrations (`lockClasses.migrations`) until the transaction ends. */
export const migrationRow = `SELECT 1 FROM locks WHERE class = ${lockClasses.migrations} AND key = 0 FOR UPDATE`

/** Returns the statements that make the functions of a database. */
export const primitives = (notify: "on" | "off", locks: "advisory" | "rows"): ReadonlyArray<string> => [
  ...(locks === "rows" ? lockTables : []),
  ...[
    wake(notify === "on" ? `SELECT pg_notify('${channel}', payload)` : ""),
    ...(locks === "rows" ? rowLocks : advisoryLocks)
  ].map((text) => `CREATE OR REPLACE FUNCTION ${text}`)
]
