#!/usr/bin/env python3
"""guards/postgresql.sql on a PostgreSQL server of the test's own, through psql."""

import glob
import os
import subprocess
import threading
import time
import unittest

from contract import Contract, token
from server import Server, free_port, guard, need, unprivileged


class Stale(Exception):
    pass


class Wrong(Exception):
    pass


class Postgres(Server):
    def __init__(self):
        super().__init__()
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not found:
            raise unittest.SkipTest("NOT TESTED: there is no postgresql")
        programs = os.path.dirname(found[-1])
        # Not /usr/bin/psql, which may be a wrapper that takes three times as long.
        self.psql = programs + "/psql"
        need(self.psql)
        how, self.user = unprivileged()
        os.chmod(self.folder, 0o777)
        data = os.path.join(self.folder, "data")
        subprocess.run([programs + "/initdb", "-D", data, "-A", "trust", "-N", "-U", self.user],
                       check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=60, **how)
        self.port = free_port()
        self.start([programs + "/postgres", "-D", data, "-h", "127.0.0.1", "-p", str(self.port),
                    "-k", self.folder, "-c", "fsync=off", "-c", "max_connections=20"],
                   lambda: self.run("SELECT 1", check=False).returncode == 0, cwd="/", **how)

    def command(self, user=None, database="postgres"):
        return [self.psql, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1",
                "-p", str(self.port), "-U", user or self.user, "-d", database]

    def run(self, sql, check=True, user=None, options=None):
        environment = {**os.environ, "PGOPTIONS": options or "", "PGCONNECT_TIMEOUT": "5"}
        done = subprocess.run(self.command(user), input="\\set VERBOSITY verbose\n" + sql,
                              capture_output=True, text=True, env=environment, timeout=30)
        if check and done.returncode != 0:
            why = {"ZH077": Stale, "ZH064": Wrong}
            code = next((c for c in why if c in done.stderr), None)
            raise why.get(code, RuntimeError)(done.stderr)
        return done


def setUpModule():
    global server
    server = Postgres()
    server.run("CREATE ROLE writer LOGIN; CREATE ROLE guest LOGIN;")


def tearDownModule():
    server.stop()


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class Session:
    """One psql that is kept open: a client that can stop in the middle."""

    def __init__(self):
        self._process = subprocess.Popen(server.command("writer"), stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         text=True, bufsize=1)

    def say(self, sql):
        self._process.stdin.write(sql + "\n")
        self._process.stdin.flush()

    def ask(self, sql):
        self.say(sql + "\n\\echo done")
        lines = []
        while not lines or lines[-1] != "done":
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError("\n".join(lines))
            lines.append(line.rstrip("\n"))
        return lines[:-1]

    def end(self):
        self._process.stdin.close()
        rest = self._process.stdout.read()
        self._process.wait(30)
        self._process.stdout.close()
        return rest


class PostgresqlGuard(Contract, unittest.TestCase):
    STALE, WRONG = Stale, Wrong

    def setUp(self):
        server.run("DROP SCHEMA IF EXISTS holdfast CASCADE; DROP TABLE IF EXISTS accounts;"
                   "CREATE TABLE accounts (text text); GRANT ALL ON accounts TO writer;"
                   + guard("postgresql.sql") + "SELECT holdfast.protect('accounts', 'books');"
                   "GRANT EXECUTE ON FUNCTION holdfast.admit(text, text) TO writer;")

    def write(self, fencing_token, text):
        server.run(f"BEGIN; SELECT holdfast.admit('books', {quoted(fencing_token)});"
                   f"DELETE FROM accounts; INSERT INTO accounts VALUES ({quoted(text)}); COMMIT;",
                   user="writer")

    def read(self):
        return server.run("SELECT text FROM accounts;").stdout.strip() or None

    def test_a_write_without_a_token_is_refused(self):
        for sql in ("INSERT INTO accounts VALUES ('x')", "UPDATE accounts SET text = 'x'",
                    "DELETE FROM accounts", "TRUNCATE accounts",
                    "COPY accounts FROM STDIN;\nx\n\\.\n"):
            with self.assertRaises(Wrong) as caught:
                server.run(sql + ";", user="writer")
            self.assertIn("nothing is no fencing token", str(caught.exception))
        self.assertEqual(self.read(), None)

    def test_who_may_not_write_cannot_stop_those_who_may(self):
        self.write(token(42), "a")
        last = token(9007199254740991)
        for sql in (f"SELECT holdfast.admit('books', '{last}')",
                    f"SELECT holdfast.raise_floor('books', '{last}')",
                    f"SET holdfast.token = '{last}'; CREATE TEMP TABLE mine (text text);"
                    "CREATE TRIGGER own BEFORE INSERT ON mine"
                    " EXECUTE FUNCTION holdfast.require_token('books');"
                    "INSERT INTO mine VALUES ('x')"):
            with self.assertRaisesRegex(Exception, "permission denied for function"):
                server.run(sql + ";", user="guest")
        self.write(token(43), "b")
        self.assertEqual(self.read(), "b")

    def test_a_connection_can_carry_its_token(self):
        options = "-c holdfast.token="
        server.run("REVOKE EXECUTE ON FUNCTION holdfast.admit(text, text) FROM writer;")
        server.run("INSERT INTO accounts VALUES ('a');", user="writer",
                   options=options + token(42))
        server.run(f"SET holdfast.token = '{token(43)}'; UPDATE accounts SET text = 'b';",
                   user="writer")
        with self.assertRaises(Stale) as caught:
            server.run("UPDATE accounts SET text = 'late';", user="writer",
                       options=options + token(42))
        self.assertIn("stale token 42 for 'books': token 43 was seen", str(caught.exception))
        self.assertEqual(self.read(), "b")

    def test_a_pass_ends_with_its_transaction_and_with_its_savepoint(self):
        self.write(token(42), "a")
        with self.assertRaises(Wrong):
            server.run("UPDATE accounts SET text = 'x';", user="writer")
        with self.assertRaises(Wrong):
            server.run(f"BEGIN; SAVEPOINT s; SELECT holdfast.admit('books', '{token(43)}');"
                       "ROLLBACK TO s; UPDATE accounts SET text = 'x'; COMMIT;", user="writer")
        self.write(token(42), "b")

    def test_a_writer_cannot_lower_the_floor_by_hand(self):
        self.write(token(42), "a")
        for sql in ("UPDATE holdfast.floor SET floor = 1", "DELETE FROM holdfast.floor",
                    "SELECT holdfast.raise_floor('books', '50:a:b')"):
            self.assertIn("permission denied",
                          server.run(sql + ";", check=False, user="writer").stderr)

    def test_a_raised_floor_refuses_and_never_goes_down(self):
        raised = f"SELECT holdfast.raise_floor('books', '{token(50)}');"
        self.assertEqual(server.run(raised).stdout.strip(), "50")
        lower = f"SELECT holdfast.raise_floor('books', '{token(40)}');"
        self.assertEqual(server.run(lower).stdout.strip(), "50")
        self.refused(Stale, token(49), "token 50 was seen")
        self.write(token(50), "a")

    def admitted(self, value):
        session = Session()
        session.ask(f"BEGIN; SELECT holdfast.admit('books', '{token(value)}');"
                    f"DELETE FROM accounts; INSERT INTO accounts VALUES ('{value}');")
        return session

    def ends_only_after(self, first, sql, user="writer"):
        """Runs the sql beside an open transaction; gives the failure, or None."""
        said = []

        def run():
            try:
                server.run(sql, user=user)
                said.append(None)
            except (Stale, Wrong, RuntimeError) as why:
                said.append(why)

        other = threading.Thread(target=run)
        other.start()
        end = time.monotonic() + 20
        while server.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock';"
                         ).stdout.strip() == "0":
            self.assertLess(time.monotonic(), end, "nobody waits for the first transaction")
            self.assertTrue(other.is_alive(), said)
        first.say("COMMIT;")
        first.end()
        other.join(30)
        return said[0]

    def test_two_transactions_the_older_one_first(self):
        self.write(token(1), "old")
        first = self.admitted(41)
        self.assertIsNone(self.ends_only_after(
            first, f"BEGIN; SELECT holdfast.admit('books', '{token(42)}');"
            "UPDATE accounts SET text = text || ' then 42'; COMMIT;"))
        self.assertEqual(self.read(), "41 then 42")

    def test_two_transactions_the_newer_one_first(self):
        self.write(token(1), "old")
        first = self.admitted(42)
        why = self.ends_only_after(
            first, f"BEGIN; SELECT holdfast.admit('books', '{token(41)}');"
            "UPDATE accounts SET text = 'late'; COMMIT;")
        self.assertIsInstance(why, Stale)
        self.assertEqual(self.read(), "42")

    def test_two_first_uses_at_once(self):
        first = self.admitted(42)
        why = self.ends_only_after(first, f"BEGIN; SELECT holdfast.admit('books', '{token(41)}');")
        self.assertIsInstance(why, Stale)

    def test_a_transaction_that_was_rolled_back_replaced_nobody(self):
        self.write(token(1), "old")
        first = self.admitted(42)
        first.say("ROLLBACK;")
        first.end()
        self.write(token(41), "a")

    def test_a_stricter_isolation_never_lets_a_stale_token_in(self):
        self.write(token(1), "old")
        for level in ("REPEATABLE READ", "SERIALIZABLE"):
            session = Session()
            session.ask(f"BEGIN ISOLATION LEVEL {level}; SELECT text FROM accounts;")
            self.write(token(42), "new")
            # In one write: psql ends at the first error, and whoever writes then has a broken pipe.
            session.say(f"SELECT holdfast.admit('books', '{token(41)}');\n"
                        "UPDATE accounts SET text = 'late'; COMMIT;")
            self.assertIn("could not serialize access", session.end())
            self.assertEqual(self.read(), "new")


@unittest.skipUnless("HOLDFAST" in os.environ, "NOT TESTED: HOLDFAST names no program")
class TheRecipe(unittest.TestCase):
    """docs/guards/postgresql.md as it stands: psql under `holdfast run`."""

    def under(self, lock, text):
        job = f"""export PGOPTIONS="-c holdfast.token=$HOLDFAST_FENCING_TOKEN"
            exec {" ".join(server.command("writer"))} \
              -c "INSERT INTO accounts VALUES ('{text}')" """
        return subprocess.run(
            [os.environ["HOLDFAST"], "run", lock, "--store", f"local:{server.folder}/locks", "--",
             "sh", "-c", job], capture_output=True, text=True, timeout=60,
            env={**os.environ, "HOLDFAST_RUN_DIRECTORY": server.folder + "/run"})

    def test_a_job_under_a_lock_writes_and_one_under_another_does_not(self):
        case = PostgresqlGuard()
        case.setUp()
        for text in ("a", "b"):
            done = self.under("night job: 100%", text)
            self.assertEqual(done.returncode, 0, done.stderr)
        other = self.under("weekly", "x")
        self.assertNotEqual(other.returncode, 0)
        self.assertIn("is of another lock or store", other.stderr)
        self.assertEqual(case.read(), "a\nb")


class WithoutTheGuard(unittest.TestCase):
    """The same late write where nothing refuses it: so it is the guard that does."""

    def test_a_late_write_overwrites_a_newer_one(self):
        server.run("DROP SCHEMA IF EXISTS holdfast CASCADE; DROP TABLE IF EXISTS accounts;"
                   "CREATE TABLE accounts (text text); INSERT INTO accounts VALUES ('old');")
        server.run("UPDATE accounts SET text = 'new';")
        server.run("UPDATE accounts SET text = 'late';")
        self.assertEqual(server.run("SELECT text FROM accounts;").stdout.strip(), "late")

    def test_without_the_trigger_nobody_has_to_be_admitted(self):
        case = PostgresqlGuard()
        case.setUp()
        server.run("DROP TRIGGER holdfast_fence ON accounts;")
        with case.assertRaises(AssertionError):
            case.test_a_write_without_a_token_is_refused()


if __name__ == "__main__":
    unittest.main()
