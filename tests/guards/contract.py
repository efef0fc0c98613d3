"""What every guard has to do, whatever it guards; each store's test says how it writes there."""

STORE = "nightly:local/0123abcd"
TOKEN_MAX = 2**53 - 1


def token(value, source=STORE):
    return f"{value}:{source}"


class Contract:
    """Mixed into a TestCase with:

    write(token, text)  puts `text` under the token, in one step or one transaction
    read()              what is there now, None at first
    STALE, WRONG        the exceptions of a stale token, and of one that is no use here
    """

    def refused(self, why, value, *words):
        before = self.read()
        with self.assertRaises(why) as caught:
            self.write(value, "must not be there")
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertEqual(self.read(), before)

    def test_a_newer_token_is_admitted(self):
        self.write(token(41), "a")
        self.write(token(42), "b")
        self.assertEqual(self.read(), "b")

    def test_an_equal_token_is_admitted(self):
        self.write(token(42), "a")
        self.write(token(42), "b")
        self.assertEqual(self.read(), "b")

    def test_an_older_token_is_refused_and_told_so(self):
        self.write(token(100), "new")
        # As texts it would be the other way round.
        self.refused(self.STALE, token(99), "stale token")
        self.write(token(100), "still")
        self.assertEqual(self.read(), "still")

    def test_a_token_of_another_lock_or_store_is_refused(self):
        self.write(token(42), "a")
        self.refused(self.WRONG, token(43, "weekly:local/0123abcd"), "another lock")
        self.refused(self.WRONG, token(43, "nightly:local/ffff"), "another lock")
        self.write(token(42), "b")

    def test_the_smallest_and_the_largest_token_are_tokens(self):
        self.write(token(1), "a")
        self.write(token(TOKEN_MAX), "b")
        self.assertEqual(self.read(), "b")
        self.refused(self.STALE, token(TOKEN_MAX - 1), "stale token")

    def test_what_is_no_token_is_refused_and_binds_nothing(self):
        bad = ["", "42", "0:" + STORE, f"{TOKEN_MAX + 1}:{STORE}", "9" * 16 + ":" + STORE,
               "1" * 17 + ":" + STORE, "042:" + STORE, "-1:" + STORE, "+1:" + STORE,
               "4 2:" + STORE, "42:nightly", "42::store", "42:nightly:", "x:" + STORE]
        for text in bad:
            with self.subTest(text):
                self.refused(self.WRONG, text, "no fencing token")
        self.write(token(1, "other:local/1"), "a")
        self.assertEqual(self.read(), "a")
