"""The lock of redis-py, which knows one node; modes.js says what it can be told to do."""

import os
import random
import select
import sys
import time

import redis
from redis.lock import Lock

MODE, NAME, TTL_MS, LOG, PORT = sys.argv[1:]


def is_over():
    """Standard input has ended: nothing is ever written to it."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def acquire(node):
    lock = Lock(node, NAME, timeout=int(TTL_MS) / 1000, sleep=0.015, blocking_timeout=0.1)
    return lock if lock.acquire() else None


def released(lock):
    """False when the lock was somebody else's, or nobody's."""
    kept = lock.owned()
    try:
        lock.release()
    except redis.exceptions.LockError as error:
        print(error, file=sys.stderr)
        return False
    return kept


def contend(node):
    who = f"redis_py-{os.getpid()}"
    file = os.open(LOG, os.O_WRONLY | os.O_APPEND)
    sections = refused = lost = 0
    while not is_over():
        # Earlier than the library begins to count, so that no line claims more than it believes.
        trusted = time.monotonic_ns() + int(TTL_MS) * 900_000
        lock = acquire(node)
        if lock is None:
            refused += 1
            continue
        begin = time.monotonic_ns()
        time.sleep(0.001)
        end = min(time.monotonic_ns(), trusted)
        if begin < end:
            os.write(file, f"{who} {begin} {end}\n".encode())
        sections += 1
        lost += not released(lock)
        time.sleep(random.uniform(0.005, 0.015))
    print(f"sections {sections} refused {refused} lost {lost}", flush=True)


def hold(node):
    lock = None
    while lock is None:
        if is_over():
            return
        lock = acquire(node)
    print("held", lock.local.token.decode(), flush=True)
    sys.stdin.read()
    print("released" if released(lock) else "lost", flush=True)


def attempt(node):
    lock = acquire(node)
    print(f"held {lock.local.token.decode()}" if lock else "refused", flush=True)


{"contend": contend, "hold": hold, "try": attempt}[MODE](redis.Redis(port=int(PORT)))
