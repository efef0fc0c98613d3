#!/usr/bin/env python3
"""guards/object_fence.py against a stand-in for an object store; no real store is tried here."""

import http.client
import sys
import threading
import unittest
from unittest import mock

from contract import Contract, token
from object_store_stand_in import ObjectStoreStandIn
from server import GUARDS

sys.path.insert(0, GUARDS)
import object_fence  # noqa: E402


class ObjectStoreGuard(Contract, unittest.TestCase):
    STALE, WRONG = object_fence.StaleToken, object_fence.WrongToken
    honours_conditions = True

    def setUp(self):
        self.store = ObjectStoreStandIn(self.honours_conditions)
        self.thread = threading.Thread(target=self.store.serve_forever, args=(0.05,))
        self.thread.start()

    def tearDown(self):
        self.store.shutdown()
        self.store.server_close()
        self.thread.join()

    def write(self, fencing_token, text):
        object_fence.put(self.store.server_address, "/books", fencing_token, text.encode())

    def read(self):
        connection = http.client.HTTPConnection(*self.store.server_address, timeout=10)
        try:
            connection.request("GET", "/books")
            answer = connection.getresponse()
            body = answer.read().decode()
            return body if answer.status == 200 else None
        finally:
            connection.close()

    def late_after(self, between):
        """A writer with token 41 that stops between its look and its put, while `between` runs."""
        look = object_fence.condition_for
        stopped = []

        def look_and_stop(*arguments):
            found = look(*arguments)
            if not stopped:
                stopped.append(True)
                between()
            return found

        with mock.patch.object(object_fence, "condition_for", look_and_stop):
            self.write(token(41), "late")

    def test_admit_pause_newer_write_then_the_put_is_refused(self):
        self.write(token(1), "old")
        with self.assertRaisesRegex(object_fence.StaleToken, "token 42 was seen"):
            self.late_after(lambda: self.write(token(42), "new"))
        self.assertEqual(self.read(), "new")

    def test_the_first_put_of_an_object_is_conditional_too(self):
        with self.assertRaises(object_fence.StaleToken):
            self.late_after(lambda: self.write(token(42), "new"))
        self.assertEqual(self.read(), "new")

    def test_a_put_that_lost_against_its_own_token_is_tried_again(self):
        self.write(token(1), "old")
        self.late_after(lambda: self.write(token(41), "other step"))
        self.assertEqual(self.read(), "late")

    def test_a_store_whose_etag_is_a_hash_of_the_content_is_refused_at_the_first_put(self):
        self.store.tags_content_alone = True
        with self.assertRaisesRegex(OSError, "hash of the content"):
            self.write(token(41), "same")
        self.write(token(42), token(42) + " same")
        self.refused(self.STALE, token(41), "stale token")

    def test_an_object_without_a_token_is_not_overwritten(self):
        self.store.objects["/books"] = (b"by hand", '"x"', [])
        self.refused(object_fence.WrongToken, token(42), "without a fencing token")


class WithoutTheGuard(unittest.TestCase):
    def test_where_conditions_are_not_kept_a_late_put_overwrites_a_newer_one(self):
        class Unguarded(ObjectStoreGuard):
            honours_conditions = False

        case = Unguarded()
        case.setUp()
        try:
            with self.assertRaises(AssertionError):
                case.test_admit_pause_newer_write_then_the_put_is_refused()
            self.assertEqual(case.read(), "late")
        finally:
            case.tearDown()


if __name__ == "__main__":
    unittest.main()
