/**
 * Statements on settings. Each is one search by name.
 */

/** Stores a setting unless there is one. Returns it if it was stored. */
export const insertSetting = `INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING RETURNING value`

export const settingByName = `SELECT value FROM settings WHERE name = ?`
