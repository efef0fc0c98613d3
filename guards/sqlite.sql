-- Fencing for SQLite 3.24 or later: refuses what a replaced lock holder writes late.
--
--   sqlite3 data.db <sqlite.sql      once in each database, then a guard for each table: below
--
-- A writer enters with its fencing token, writes and leaves in one transaction:
--
--   BEGIN IMMEDIATE;
--   INSERT INTO holdfast_enter VALUES ('nightly-accounts', '42:nightly:local/9f0c...');
--   UPDATE accounts SET ...;
--   INSERT INTO holdfast_leave VALUES ('nightly-accounts');
--   COMMIT;
--
-- The guard of a table, for its name and its resource (three triggers, as SQLite wants it):
--
--   CREATE TRIGGER holdfast_accounts_insert BEFORE INSERT ON accounts
--     WHEN NOT EXISTS (SELECT 1 FROM holdfast_pass WHERE resource = 'nightly-accounts')
--     BEGIN SELECT RAISE(ABORT, 'holdfast: nobody has entered with a fencing token'); END;
--   and the same with _update BEFORE UPDATE, and with _delete BEFORE DELETE.

BEGIN;

-- Whose tokens a resource compares, and the newest one it has seen.
CREATE TABLE holdfast_floor (
  resource TEXT PRIMARY KEY,
  source   TEXT NOT NULL,
  floor    INTEGER NOT NULL CHECK (floor BETWEEN 1 AND 9007199254740991)
) WITHOUT ROWID;

-- Who writes now. A row that somebody forgot to remove, by holdfast_leave in the transaction, lets
-- anybody write without a token until the next one has left.
CREATE TABLE holdfast_pass (resource TEXT PRIMARY KEY, token TEXT NOT NULL) WITHOUT ROWID;

CREATE VIEW holdfast_enter AS SELECT resource, token FROM holdfast_pass;
CREATE VIEW holdfast_leave AS SELECT resource FROM holdfast_pass;

CREATE TRIGGER holdfast_enters INSTEAD OF INSERT ON holdfast_enter
BEGIN
  SELECT RAISE(ABORT, 'holdfast: no fencing token: it is VALUE:LOCK:STORE, from 1 to 2^53 - 1')
    WHERE new.resource IS NULL OR new.token IS NULL OR typeof(new.token) <> 'text'
       OR new.token NOT GLOB '[1-9]*:?*:?*' OR instr(new.token, ':') > 17
       OR substr(new.token, 1, instr(new.token, ':') - 1) GLOB '*[^0-9]*'
       OR CAST(substr(new.token, 1, instr(new.token, ':') - 1) AS INTEGER) > 9007199254740991
       OR new.token GLOB '*[^!-~]*';
  SELECT RAISE(ABORT, 'holdfast: a token of another lock or store: see holdfast_floor')
    FROM holdfast_floor f WHERE f.resource = new.resource
     AND f.source <> substr(new.token, instr(new.token, ':') + 1);
  SELECT RAISE(ABORT, 'holdfast: stale token, a newer one was seen: stop, acquire again')
    FROM holdfast_floor f WHERE f.resource = new.resource
     AND f.floor > CAST(substr(new.token, 1, instr(new.token, ':') - 1) AS INTEGER);
  INSERT INTO holdfast_floor
    VALUES (new.resource, substr(new.token, instr(new.token, ':') + 1),
            CAST(substr(new.token, 1, instr(new.token, ':') - 1) AS INTEGER))
    ON CONFLICT (resource) DO UPDATE SET floor = excluded.floor;
  INSERT OR REPLACE INTO holdfast_pass VALUES (new.resource, new.token);
END;

CREATE TRIGGER holdfast_leaves INSTEAD OF INSERT ON holdfast_leave
BEGIN
  DELETE FROM holdfast_pass WHERE resource = new.resource;
END;

COMMIT;
