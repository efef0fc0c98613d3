#!/usr/bin/env python3
"""guards/sqlite.sql in a database file, through Python's sqlite3."""

import os
import shutil
import sqlite3
import tempfile
import unittest

from contract import Contract, token
from server import guard

GUARD_OF_THE_TABLE = """
CREATE TRIGGER holdfast_accounts_{when} BEFORE {when} ON accounts
  WHEN NOT EXISTS (SELECT 1 FROM holdfast_pass WHERE resource = 'books')
  BEGIN SELECT RAISE(ABORT, 'holdfast: nobody has entered with a fencing token'); END;
"""


class SqliteGuard(Contract, unittest.TestCase):
    STALE = WRONG = sqlite3.IntegrityError
    guarded = True

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="holdfast-guard-")
        self.connections = []
        db = self.connect()
        db.execute("CREATE TABLE accounts (text)")
        db.executescript(guard("sqlite.sql"))
        if self.guarded:
            for when in ("insert", "update", "delete"):
                db.executescript(GUARD_OF_THE_TABLE.format(when=when))

    def tearDown(self):
        for db in self.connections:
            db.close()
        shutil.rmtree(self.folder)

    def connect(self, patience=5.0):
        db = sqlite3.connect(os.path.join(self.folder, "data.db"), isolation_level=None,
                             timeout=patience)
        self.connections.append(db)
        return db

    def write(self, fencing_token, text):
        db = self.connect()
        db.execute("BEGIN IMMEDIATE")
        try:
            self.enter(db, fencing_token)
            db.execute("DELETE FROM accounts")
            db.execute("INSERT INTO accounts VALUES (?)", (text,))
            db.execute("INSERT INTO holdfast_leave VALUES ('books')")
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")

    @staticmethod
    def enter(db, fencing_token):
        db.execute("INSERT INTO holdfast_enter VALUES ('books', ?)", (fencing_token,))

    def read(self):
        row = self.connect().execute("SELECT text FROM accounts").fetchone()
        return row and row[0]

    def test_a_write_that_did_not_enter_is_refused(self):
        self.write(token(42), "a")
        for sql in ("INSERT INTO accounts VALUES ('x')", "UPDATE accounts SET text = 'x'",
                    "DELETE FROM accounts"):
            with self.assertRaisesRegex(sqlite3.IntegrityError, "nobody has entered"):
                self.connect().execute(sql)
        self.assertEqual(self.read(), "a")

    def test_what_is_not_a_text_is_no_token(self):
        for what in (42, 42.0, None, b"42:a:b"):
            with self.assertRaisesRegex(sqlite3.IntegrityError, "no fencing token"):
                self.enter(self.connect(), what)

    def test_two_transactions_the_newer_one_first(self):
        newer, older = self.connect(), self.connect(patience=0.05)
        newer.execute("BEGIN IMMEDIATE")
        self.enter(newer, token(42))
        # It waits, and is not admitted beside it.
        with self.assertRaisesRegex(sqlite3.OperationalError, "locked"):
            older.execute("BEGIN IMMEDIATE")
        newer.execute("INSERT INTO accounts VALUES ('new')")
        newer.execute("INSERT INTO holdfast_leave VALUES ('books')")
        newer.execute("COMMIT")
        older.execute("BEGIN IMMEDIATE")
        with self.assertRaisesRegex(sqlite3.IntegrityError, "stale token"):
            self.enter(older, token(41))
        with self.assertRaisesRegex(sqlite3.IntegrityError, "nobody has entered"):
            older.execute("UPDATE accounts SET text = 'late'")
        older.execute("ROLLBACK")
        self.assertEqual(self.read(), "new")

    def test_one_that_entered_outside_of_a_transaction_does_not_write_after_a_newer_one(self):
        careless = self.connect()
        self.enter(careless, token(41))
        self.write(token(42), "new")
        with self.assertRaisesRegex(sqlite3.IntegrityError, "nobody has entered"):
            careless.execute("UPDATE accounts SET text = 'late'")
        self.assertEqual(self.read(), "new")


class WithoutTheGuard(unittest.TestCase):
    def test_a_late_write_overwrites_a_newer_one(self):
        class Unguarded(SqliteGuard):
            guarded = False

        case = Unguarded()
        case.setUp()
        try:
            case.write(token(42), "new")
            case.connect().execute("UPDATE accounts SET text = 'late'")
            self.assertEqual(case.read(), "late")
            with self.assertRaises(AssertionError):
                case.test_a_write_that_did_not_enter_is_refused()
        finally:
            case.tearDown()


if __name__ == "__main__":
    unittest.main()
