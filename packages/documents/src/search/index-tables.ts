import { IndexNotOursError } from '../errors.js'
import type { SqliteDatabase } from '@polyvac/sqlite'
import { SPLITTER_VERSION } from '../formats/split-document.js'

/** A hash of the options that the content of an index depends on; another key empties it. */
export type IndexKey = string

/** "PVDC": it distinguishes an index from databases of other programs. */
const APPLICATION_ID = 0x50564443
/** Raised with every change of the tables, or of the terms that a text has in them. */
// @keyed (table embedded) none: the keys are hashes and numbers of passages, one row for each of them at most
// @keyed (table vector) none: the keys are hashes and numbers of passages, one row for each of them at most
// @keyed (table vocabulary) none: the words are those of the table `passage`
// @keyed (table term) none: the words are those of the table `passage`
// @keyed (table passage) none: the rows are of files in a folder of the configuration; maxFiles, and MAX_PASSAGES
//   for a file
// @keyed (table file) none: the rows are of files in a folder of the configuration; maxFiles, and MAX_PASSAGES for
//   a file
// @keyed (table meta) none: the keys are those of the code
const TABLES_VERSION = 9

const TABLES = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE file (id INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL);
  CREATE TABLE passage (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, heading TEXT NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL, content TEXT NOT NULL);
  CREATE INDEX passage_file ON passage (file);
  CREATE VIRTUAL TABLE term USING fts5 (head, body, content='', contentless_delete=1, 
    tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* M* Co' tokenchars '_'");
  CREATE VIRTUAL TABLE vocabulary USING fts5vocab (term, row);
  CREATE TABLE vector (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, value BLOB NOT NULL);
  CREATE TABLE embedded (passage INTEGER PRIMARY KEY, vector INTEGER NOT NULL);
  CREATE INDEX embedded_vector ON embedded (vector);
  CREATE TRIGGER passage_deleted AFTER DELETE ON passage BEGIN DELETE FROM embedded WHERE passage = old.id; END;
`
const DROP = ['vocabulary', 'meta', 'passage', 'file', 'term', 'vector', 'embedded'].map(table => `DROP TABLE IF EXISTS ${table};`).join('\n')

/** Creates the tables, or empties those of another version or key. */
export function migrateIndex (database: SqliteDatabase, key: IndexKey): void {
  const version = `${TABLES_VERSION}.${SPLITTER_VERSION}`
  database.transaction(() => {
    const [application = 0] = database.prepare('PRAGMA application_id').column<number>()
    const [tables = 0] = database.prepare('SELECT count(*) FROM sqlite_schema').column<number>()
    if (application !== APPLICATION_ID && tables > 0) throw new IndexNotOursError()
    if (tables > 0) {
      const meta = new Map(database.prepare('SELECT key, value FROM meta').all<{ key: string, value: string }>()
        .map(row => [row.key, row.value]))
      if (meta.get('version') === version && meta.get('key') === key) return
      database.exec(DROP)
    }
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    database.exec(TABLES)
    // the default, merging segments at every fourth commit, costs a third of the time of a bulk load; above the crisis
    // mark a whole level is merged at once, which blocks the event loop for 200 ms, so the mark is set high
    database.exec("INSERT INTO term (term, rank) VALUES ('automerge', 16), ('crisismerge', 64)")
    const insert = database.prepare('INSERT INTO meta (key, value) VALUES (?, ?)')
    insert.run('version', version)
    insert.run('key', key)
    insert.run('languages', '')
  })
}
