/**
 * Room for many look-ups of names at once.
 *
 * Node has four threads unless told otherwise before they are first used, and looks names up on half of them, so that two
 * names with dead name servers would hold up all others. Hence the first import of every command.
 */
process.env["UV_THREADPOOL_SIZE"] ??= "64"
