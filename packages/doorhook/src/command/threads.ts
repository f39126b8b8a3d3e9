/**
 * Room for many look-ups of names at once.
 *
 * Node looks names up on four threads unless told otherwise before they are first used, so that two names with dead name
 * servers would hold up all others. Hence the first import of every command.
 */
process.env["UV_THREADPOOL_SIZE"] ??= "64"
