/**
 * The backend's own tables on SQLite, with one building and one administrator.
 */
import { hashPassword } from "doorhook"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

/** Folder of this database and of doorhook's database. */
export const data = process.env["DATA"] ?? "data"

mkdirSync(data, { recursive: true })
export const database = new DatabaseSync(join(data, "host.db"))
database.exec(`
  CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, login TEXT UNIQUE NOT NULL, password_hash TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS buildings (id INTEGER PRIMARY KEY, name TEXT NOT NULL, time_zone TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS building_administrators (user_id INTEGER NOT NULL, building_id INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS tenants (
    id INTEGER PRIMARY KEY, user_id INTEGER, building_id INTEGER NOT NULL, unit_id INTEGER, unit_label TEXT
  );
  CREATE TABLE IF NOT EXISTS access_points (id INTEGER PRIMARY KEY, building_id INTEGER NOT NULL, name TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS rings (id INTEGER PRIMARY KEY, building_id INTEGER NOT NULL);
`)
if (database.prepare("SELECT 1 FROM users").get() === undefined) {
  const hash = await hashPassword("correct horse")
  database.prepare("INSERT INTO users (login, password_hash) VALUES (?, ?)").run("ada@example.com", hash)
  database.exec(`
    INSERT INTO buildings VALUES (1, 'North Tower', 'Europe/Berlin');
    INSERT INTO building_administrators VALUES (1, 1);
    INSERT INTO access_points VALUES (11, 1, 'Front door');
  `)
}
