/**
 * Turns TLS of a running PostgreSQL server on and off. The server writes its own files, so that they have the owner and
 * the permissions that it demands.
 */
import type { Certificate } from "../hostile/Certificates.ts"
import type { TestServer } from "./TestServer.ts"

export interface ServerTls {
  readonly certificate: Certificate
  /** Authority of client certificates. */
  readonly authority: string
}

const base64 = (text: string): string => Buffer.from(text).toString("base64")

/** Writes a file into the folder of the server's data. */
const write = ({ administer }: TestServer, name: string, text: string) =>
  administer(`COPY (SELECT '${base64(text)}') TO PROGRAM 'umask 077; base64 -d > ${name}'`)

/** Sets the lines of `pg_hba.conf` for logins before all others, and TLS; null for none. Affects later connections. */
export const setTls = async (server: TestServer, tls: ServerTls | null, hba: ReadonlyArray<string>): Promise<void> => {
  const { administer } = server
  if (tls !== null) {
    await write(server, "server.crt", tls.certificate.cert)
    await write(server, "server.key", tls.certificate.key)
    await write(server, "clients.crt", tls.authority)
    await administer("ALTER SYSTEM SET ssl_ca_file = 'clients.crt'")
  }
  await write(server, "pg_hba.conf", [...hba, "host all all all trust", ""].join("\n"))
  // A setting without a meaning shows when the server has read its files again.
  const mark = `at${process.hrtime.bigint()}`
  await administer(`ALTER SYSTEM SET doorhook_tests.reloaded = '${mark}'`)
  await administer(`ALTER SYSTEM SET ssl = ${tls === null ? "off" : "on"}`)
  await administer("SELECT pg_reload_conf()")
  const hasReloaded = async (): Promise<boolean> => {
    const [row] = await administer("SELECT current_setting('doorhook_tests.reloaded', true) = $$" + mark + "$$ AS is")
    return row?.["is"] === true
  }
  while (!(await hasReloaded()));
}
