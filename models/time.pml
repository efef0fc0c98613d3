/* Time on Redlock: when may a client act? Leases, renewal, repair, release, lost nodes, drifting
 * clocks, late messages. Every time is kept as what is left or has passed, so the model has no end:
 * clients go on for ever, each attempt with a value of its own.
 *
 * What an earlier attempt left behind, a key or a message, is a "ghost": it may take a free key or
 * be released at any moment, which covers late SETs and late releases of any age.
 * models/README.md says what is covered; models/cases has the runs.
 */

/* Clocks: clients 0 exact, 1 slow, 3 each slow or exact; nodes 0 exact, 2 fast, 3 each fast or
   exact. Nothing is gained for a violation by a fast client or a slow node. Slow clients and fast
   nodes together are twice as far apart as the assumption allows. */
#ifndef CLIENT_CLOCKS
#define CLIENT_CLOCKS 0
#endif
#ifndef NODE_CLOCKS
#define NODE_CLOCKS 0
#endif
#define DRIFT (CLIENT_CLOCKS || NODE_CLOCKS)
#ifndef RATE
#define RATE 4 /* rho = 1 / RATE: a clock gains or loses a tick in RATE ticks */
#endif
#ifndef TTL
#if DRIFT
#define TTL 4 /* in ticks; also the max_ttl of the store */
#else
#define TTL 2
#endif
#endif
#if DRIFT
#define RHO_TTL (TTL / RATE)
#define MARGIN 1 /* ticks are whole: two of them may be off by one */
#else
#define RHO_TTL 0
#define MARGIN 0
#endif
#ifndef LOSSES
#define LOSSES 0 /* 1: nodes may lose state, again and again, all of them too */
#endif
#ifndef STEPS
#define STEPS 0 /* 1: its wall clock may step forward by more than a ttl, likewise */
#endif
#ifndef STEPS_APART
#define STEPS_APART 0 /* 1: ... but within a ttl at most one node's */
#endif
#ifndef CLAIM_ALL
#define CLAIM_ALL 0 /* 1: only a holder whose key counts on every node claims to be alone */
#endif
#ifndef DENY
#define DENY 0 /* 1: client 0 may be denied */
#endif
#ifndef RENEWS
#define RENEWS 1
#endif
#ifndef GHOSTS
#define GHOSTS 1 /* 0: no messages of earlier attempts */
#endif

/* Rules: 1 is in force, 0 is removed. */
#ifndef MAJORITY_OF_CONFIGURED
#define MAJORITY_OF_CONFIGURED 1
#endif
#ifndef COUNT_FROM_SEND
#define COUNT_FROM_SEND 1
#endif
#ifndef PROVE_OWN_ATTEMPT
#define PROVE_OWN_ATTEMPT 1 /* an answer proves the round it belongs to, no later one */
#endif
#ifndef SUBTRACT_DRIFT
#define SUBTRACT_DRIFT 1 /* usable = ttl - (ttl * rho + margin) */
#endif
#ifndef COUNT_SUSPEND
#define COUNT_SUSPEND 1 /* the client's clock goes on while its machine sleeps (BOOTTIME) */
#endif
#ifndef EXTEND_ONLY_IN_TIME
#define EXTEND_ONLY_IN_TIME 1 /* a lock that was lost never comes back */
#endif
#ifndef RENEW_BY_COMPARE
#define RENEW_BY_COMPARE 1
#endif
#ifndef PER_NODE_DEADLINES
#define PER_NODE_DEADLINES 1 /* key and session hold on the same majority */
#endif
#ifndef DROP_LOST_NODES
#define DROP_LOST_NODES 1 /* a node that lost the key stops counting */
#endif
#ifndef REPAIR_WITH_MAJORITY
#define REPAIR_WITH_MAJORITY 1 /* a lost key is set again only while a majority counts */
#endif
#ifndef FRESH_VALUE
#define FRESH_VALUE 1
#endif
#ifndef RELEASE_BY_COMPARE
#define RELEASE_BY_COMPARE 1
#endif
#ifndef STOP_BEFORE_RELEASE
#define STOP_BEFORE_RELEASE 1
#endif
#ifndef WAIT_BEFORE_REJOIN
#define WAIT_BEFORE_REJOIN 1
#endif
#ifndef WAIT_FULL_TIME
#define WAIT_FULL_TIME 1
#endif
#ifndef STEP_LIKE_RESTART
#define STEP_LIKE_RESTART 1
#endif
#ifndef REFUSE_DENIED
#define REFUSE_DENIED 1
#endif
#ifndef DENY_ENOUGH
#define DENY_ENOUGH 1
#endif
#ifndef ASK_IN_SESSION
#define ASK_IN_SESSION 1 /* a session whose lease is over asks nothing more */
#endif
#ifndef REACH
#define REACH 0 /* 1: "violated" when a lock was renewed, lost, and taken by the other client */
#endif

#define N 3
#if MAJORITY_OF_CONFIGURED
#define QUORUM 2
#else
#define QUORUM 1
#endif
#if SUBTRACT_DRIFT
#define USABLE (TTL - RHO_TTL - MARGIN)
#else
#define USABLE TTL
#endif
/* max_ttl * (1 + rho) + margin, on the clock of whoever saw the loss: the fastest there may be. */
#if !WAIT_BEFORE_REJOIN
#define PAUSE 0
#elif WAIT_FULL_TIME
#define PAUSE (TTL + RHO_TTL + MARGIN)
#else
#define PAUSE ((TTL + RHO_TTL + MARGIN) / 2)
#endif

/* Nodes. */
#define FREE 0
#define GHOST 3 /* a value that nobody counts any more; else the key's owner + 1 */
byte own[N];
byte left[N];  /* of the key, by the node's clock */
byte pause[N]; /* until it votes again */
byte phase;    /* of the drift, 0 .. RATE - 1 */
byte rates;    /* bit i: node i is fast; bit N + c: client c is slow (CLOCKS 3) */

/* Clients. */
#define IDLE 0
#define ASKING 1
#define HELD 2
byte is[2];
byte since[2];       /* the acquire was sent, by its own clock */
byte since_renew[2]; /* the newest renewal was sent */
byte counts[2 * N];  /* how long the node's key protects, by the client's own clock */
bit asked[2 * N];    /* the acquire is under way to the node */
bit renews[2 * N];   /* the renewal is */
bit did[2 * N];      /* it was done there, the answer is under way */
bit answered[2 * N]; /* to the newest renewal; only without PER_NODE_DEADLINES */
bit newer[2];        /* somebody was granted the lock after this client */
bit renewed[2], passed;
bit earlier[2]; /* it had an attempt before; only without FRESH_VALUE */
byte since_step; /* until another node may step; only with STEPS_APART */
byte k; /* zero between two steps */

#define AT(c, i) ((c) * N + (i))
#define NODES(M) M(0) M(1) M(2)
#define NODES_OF(M, c) M(c, 0) M(c, 1) M(c, 2)
#define COUNTS(c, i) (counts[AT(c, i)] != 0)
#define PROTECTS(c) ((COUNTS(c, 0) + COUNTS(c, 1) + COUNTS(c, 2)) >= QUORUM)
#define HOLDS(c) (is[c] == HELD && PROTECTS(c))
#define VOTES(i) (pause[i] == 0)
#define EMPTY(i) (own[i] == FREE || left[i] == 0)
#define HAS(c, i) (own[i] == (c) + 1 && left[i] != 0)

#include "time_denial.pml"

/* The property: a valid holder is the newest. Two valid holders at once break it as well. */
#if CLAIM_ALL
#define ON_ALL(c) (is[c] == HELD && COUNTS(c, 0) && COUNTS(c, 1) && COUNTS(c, 2))
#define CHECK assert(!(ON_ALL(0) && HOLDS(1)) && !(HOLDS(0) && ON_ALL(1)))
#else
#define CHECK assert(!(HOLDS(0) && newer[0]) && !(HOLDS(1) && newer[1]))
#endif

#if REACH
#define REACHED(c) passed = passed || (renewed[1 - (c)] && is[1 - (c)] != HELD); assert(!passed);
#else
#define REACHED(c)
#endif
#define GRANT(c)                                                                                  \
  if                                                                                              \
  :: is[c] == ASKING && PROTECTS(c) ->                                                            \
    printf("> client %d HOLDS\n", c);                                                             \
    is[c] = HELD; newer[c] = 0; newer[1 - (c)] = (is[1 - (c)] == HELD);                           \
    REACHED(c)                                                                                    \
    renewed[c] = 0                                                                                \
  :: else                                                                                         \
  fi;                                                                                             \
  CHECK

/* What a client leaves behind: its keys are ghosts, its messages too. */
#if FRESH_VALUE
#define LEAVE(c, i)                                                                               \
  own[i] = (own[i] == (c) + 1 -> GHOST : own[i]);                                                 \
  FORGET(c, i)
#else
#define LEAVE(c, i) FORGET(c, i)
#endif
#define FORGET(c, i)                                                                              \
  counts[AT(c, i)] = 0; asked[AT(c, i)] = 0; renews[AT(c, i)] = 0; did[AT(c, i)] = 0;             \
  answered[AT(c, i)] = 0;
#define END(c)                                                                                    \
  is[c] = IDLE; since[c] = 0; since_renew[c] = 0; newer[c] = 0; earlier[c] = !FRESH_VALUE;        \
  NODES_OF(LEAVE, c)

/* One tick of true time. Slow clocks miss the first of RATE ticks, fast ones count it twice. */
#define STEP_OF(clock, bit, drifted)                                                              \
  (phase != 0 || (clock) == 0 || ((clock) == 3 && (rates & (1 << (bit))) == 0) -> 1 : (drifted))
#define LESS(x, step) x = ((x) > (step) -> (x) - (step) : 0)
/* What was sent so long ago that its answer is worth nothing is not told apart. */
#define MORE(c, x)                                                                                \
  x = (is[c] == IDLE -> 0 : ((x) + k < USABLE -> (x) + k : USABLE))
#define TICK_NODE(i)                                                                              \
  k = STEP_OF(NODE_CLOCKS, i, 2); LESS(left[i], k);                                               \
  own[i] = (left[i] == 0 -> FREE : own[i]);                                                       \
  LESS(pause[i], (DRIFT && phase == 0 -> 2 : 1));
#define TICK_COUNT(c, i) LESS(counts[AT(c, i)], k);
#if EXTEND_ONLY_IN_TIME && REPAIR_WITH_MAJORITY
#define LOST(c)                                                                                   \
  if                                                                                              \
  :: is[c] == HELD && !PROTECTS(c) -> printf("> client %d has lost the lock\n", c); END(c)        \
  :: else                                                                                         \
  fi;
#else
#define LOST(c)
#endif
#define TICK_CLIENT(c)                                                                            \
  k = STEP_OF(CLIENT_CLOCKS, N + (c), 0);                                                         \
  MORE(c, since[c]); MORE(c, since_renew[c]);                                                     \
  NODES_OF(TICK_COUNT, c) TICK_SESSION(c)                                                         \
  LOST(c)
#define TICK(clients, text)                                                                       \
  ::d_step {                                                                                      \
    true ->                                                                                       \
    printf(text);                                                                                 \
    NODES(TICK_NODE)                                                                              \
    clients                                                                                       \
    LESS(since_step, 1); k = 0; phase = (DRIFT -> (phase + 1) % RATE : 0);                        \
    TICK_DENY                                                                                     \
    CHECK                                                                                         \
  }
#if COUNT_SUSPEND
#define TICKS TICK(TICK_CLIENT(0) TICK_CLIENT(1), "> tick\n")
#else
#define TICKS                                                                                     \
  TICK(TICK_CLIENT(0) TICK_CLIENT(1), "> tick\n")                                                 \
  TICK(TICK_CLIENT(1), "> tick, client 0 sleeps\n")
#endif

/* A client asks all nodes at once. */
#define ASK(c, i) asked[AT(c, i)] = 1;
#define START(c)                                                                                  \
  ::d_step {                                                                                      \
    is[c] == IDLE && IN_SESSION(c) ->                                                             \
    printf("> client %d asks\n", c);                                                              \
    is[c] = ASKING; since[c] = 0;                                                                 \
    NODES_OF(ASK, c)                                                                              \
  }

/* The SET at a node. When leases count from sending, the answer is known at once: the earlier it
   comes, the longer the client holds, to the same end. Else it comes later. */
#define SET_OF(c, i)                                                                              \
  ::d_step {                                                                                      \
    is[c] != IDLE && asked[AT(c, i)] && VOTES(i) && EMPTY(i) && SERVES(c, i) ->                   \
    printf("> node %d: SET of client %d\n", i, c);                                                \
    own[i] = (c) + 1; left[i] = TTL; asked[AT(c, i)] = 0;                                         \
    SET_ANSWER(c, i)                                                                              \
  }
#if COUNT_FROM_SEND
#define SET_ANSWER(c, i) counts[AT(c, i)] = (since[c] < USABLE -> USABLE - since[c] : 0); GRANT(c)
#define SET_ANSWERED(c, i)
#else
#define SET_ANSWER(c, i) did[AT(c, i)] = 1
#define SET_ANSWERED(c, i)                                                                        \
  ::d_step {                                                                                      \
    is[c] != IDLE && did[AT(c, i)] ->                                                             \
    printf("> client %d: the answer of node %d comes\n", c, i);                                   \
    did[AT(c, i)] = 0; counts[AT(c, i)] = USABLE;                                                 \
    GRANT(c)                                                                                      \
  }
#endif

/* Renewal: compare-and-PEXPIRE at every node, all at once, and SET NX where the key is gone
   (repair). A round replaces the one before; what that has still under way does nothing but
   lengthen a key, or is lost. */
#define RENEW_AT(c, i) renews[AT(c, i)] = 1; answered[AT(c, i)] = 0; AGAIN(c, i)
#if PROVE_OWN_ATTEMPT
#define AGAIN(c, i) did[AT(c, i)] = 0;
#else
#define AGAIN(c, i)
#endif
#define RENEW(c)                                                                                  \
  ::d_step {                                                                                      \
    is[c] == HELD && IN_SESSION(c) && (HOLDS(c) || !EXTEND_ONLY_IN_TIME) ->                       \
    printf("> client %d renews\n", c);                                                            \
    since_renew[c] = 0;                                                                           \
    NODES_OF(RENEW_AT, c)                                                                         \
  }
#define IN_TIME(c) (HOLDS(c) || !EXTEND_ONLY_IN_TIME)
#define MAY_REPAIR(c, i) (EMPTY(i) && (IN_TIME(c) || !REPAIR_WITH_MAJORITY))
#if RENEW_BY_COMPARE
#define MAY_RENEW(c, i) ((HAS(c, i) && IN_TIME(c)) || MAY_REPAIR(c, i))
#define RENEWED_OWNER(c, i) own[i] = (c) + 1
#else
#define MAY_RENEW(c, i) true
#define RENEWED_OWNER(c, i) own[i] = (EMPTY(i) -> (c) + 1 : own[i])
#endif
#define LEFT_OF_RENEWAL(c) (since_renew[c] < USABLE -> USABLE - since_renew[c] : 0)
#define LONGER(c, i)                                                                              \
  counts[AT(c, i)] =                                                                              \
      (counts[AT(c, i)] < LEFT_OF_RENEWAL(c) -> LEFT_OF_RENEWAL(c) : counts[AT(c, i)])
#if PER_NODE_DEADLINES
#define RENEW_DONE(c, i) LONGER(c, i)
#else
/* Locks and sessions counted apart: any majority of answers moves every node that has the key. */
#define ALSO(c, i) counts[AT(c, i)] = (counts[AT(c, i)] != 0 -> LEFT_OF_RENEWAL(c) : 0);
#define RENEW_DONE(c, i)                                                                          \
  answered[AT(c, i)] = 1;                                                                         \
  if                                                                                              \
  :: answered[AT(c, 0)] + answered[AT(c, 1)] + answered[AT(c, 2)] >= QUORUM ->                    \
     ALSO(c, 0) ALSO(c, 1) ALSO(c, 2)                                                             \
  :: else                                                                                         \
  fi
#endif
#if PROVE_OWN_ATTEMPT
#define RENEW_ANSWER(c, i) RENEW_DONE(c, i)
#define RENEW_ANSWERED(c, i)
#else
#define RENEW_ANSWER(c, i) did[AT(c, i)] = 1
#define RENEW_ANSWERED(c, i)                                                                      \
  ::d_step {                                                                                      \
    is[c] == HELD && did[AT(c, i)] ->                                                             \
    printf("> client %d: the answer of node %d to a renewal comes\n", c, i);                      \
    did[AT(c, i)] = 0; RENEW_DONE(c, i);                                                          \
    CHECK                                                                                         \
  }
#endif
#if PER_NODE_DEADLINES
#define EXTEND(c, i)                                                                              \
  ::d_step {                                                                                      \
    is[c] == HELD && renews[AT(c, i)] && VOTES(i) && MAY_RENEW(c, i) && SERVES(c, i) ->           \
    printf("> node %d: renewal of client %d\n", i, c);                                            \
    renews[AT(c, i)] = 0; RENEWED_OWNER(c, i); left[i] = TTL; renewed[c] = REACH;                 \
    RENEW_ANSWER(c, i);                                                                           \
    CHECK                                                                                         \
  }
#else
#define EXTEND(c, i)                                                                              \
  ::d_step {                                                                                      \
    is[c] == HELD && renews[AT(c, i)] && VOTES(i) ->                                              \
    printf("> node %d: the session of client %d is renewed\n", i, c);                             \
    renews[AT(c, i)] = 0;                                                                         \
    left[i] = (HAS(c, i) -> TTL : left[i]);                                                       \
    RENEW_DONE(c, i);                                                                             \
    CHECK                                                                                         \
  }
#endif
/* The node answers that the key is not ours: it stops counting. */
#if DROP_LOST_NODES
#define NOT_OURS(c, i)
#else
#define NOT_OURS(c, i)                                                                            \
  ::d_step {                                                                                      \
    is[c] == HELD && renews[AT(c, i)] && VOTES(i) && !HAS(c, i) ->                                \
    printf("> node %d: not the key of client %d, counted all the same\n", i, c);                  \
    renews[AT(c, i)] = 0; LONGER(c, i);                                                           \
    CHECK                                                                                         \
  }
#endif

/* Release, or giving up a round that failed. The client stops first; what it sent is a ghost. */
#if STOP_BEFORE_RELEASE
#define RELEASE(c)                                                                                \
  ::d_step { is[c] != IDLE -> printf("> client %d releases\n", c); END(c) }
#else
#define RELEASED_AT(c, i) own[i] = (own[i] == (c) + 1 -> GHOST : own[i]);
#define RELEASE(c)                                                                                \
  ::d_step {                                                                                      \
    is[c] == HELD ->                                                                              \
    printf("> client %d sends its release and goes on\n", c);                                     \
    NODES_OF(RELEASED_AT, c)                                                                      \
  }                                                                                               \
  ::d_step { is[c] != IDLE -> printf("> client %d stops\n", c); END(c) }
#endif

/* Messages of earlier attempts. */
#if RELEASE_BY_COMPARE
#define DELETED(i) own[i] == GHOST
#else
#define DELETED(i) own[i] != FREE
#endif
#define GHOST_AT(i)                                                                               \
  ::d_step {                                                                                      \
    EMPTY(i) && VOTES(i) -> printf("> node %d: a late SET\n", i); own[i] = GHOST; left[i] = TTL   \
  }                                                                                               \
  ::d_step { DELETED(i) -> printf("> node %d: a late release\n", i); own[i] = FREE; left[i] = 0 }
#if FRESH_VALUE
#define OLD_VALUE(c, i)
#else
#define OLD_VALUE(c, i)                                                                           \
  ::d_step {                                                                                      \
    earlier[c] && own[i] == (c) + 1 ->                                                            \
    printf("> node %d: the late release of an earlier attempt of client %d\n", i, c);             \
    own[i] = FREE; left[i] = 0                                                                    \
  }
#endif

/* A node loses state. Requests to it die with their connections. */
#define DIE(c, i) asked[AT(c, i)] = 0; renews[AT(c, i)] = 0; did[AT(c, i)] = 0;
#if LOSSES
#define LOSE(i)                                                                                   \
  ::d_step {                                                                                      \
    pause[i] == 0 ->                                                                              \
    printf("> node %d: LOSES STATE\n", i);                                                        \
    own[i] = FREE; left[i] = 0; pause[i] = PAUSE;                                                 \
    LOSE_RECORD(i)                                                                                \
    DIE(0, i) DIE(1, i)                                                                           \
  }
#else
#define LOSE(i)
#endif
/* Its clock steps forward: all keys are over at once. Requests live on. */
#if STEPS
#define STEP(i)                                                                                   \
  ::d_step {                                                                                      \
    pause[i] == 0 && since_step == 0 ->                                                           \
    printf("> node %d: its CLOCK STEPS\n", i);                                                    \
    since_step = (STEPS_APART -> TTL : 0);                                                        \
    own[i] = FREE; left[i] = 0; pause[i] = (STEP_LIKE_RESTART -> PAUSE : 0)                       \
  }
#else
#define STEP(i)
#endif

#if RENEWS
#define RENEWAL(c)                                                                                \
  RENEW(c) NODES_OF(EXTEND, c) NODES_OF(RENEW_ANSWERED, c) NODES_OF(NOT_OURS, c)
#else
#define RENEWAL(c)
#endif
#define CLIENT(c)                                                                                 \
  START(c) NODES_OF(SET_OF, c) NODES_OF(SET_ANSWERED, c) RENEWAL(c) RELEASE(c)                    \
  NODES_OF(OLD_VALUE, c)
#if GHOSTS
#define NODE(i) GHOST_AT(i) LOSE(i) STEP(i)
#else
#define NODE(i) LOSE(i) STEP(i)
#endif

init {
#if NODE_CLOCKS == 3
  if :: rates = 0 :: rates = 1 :: rates = 3 :: rates = 7 fi;
#endif
#if CLIENT_CLOCKS == 3
  if :: skip :: rates = rates + 8 :: rates = rates + 16 :: rates = rates + 24 fi;
#endif
  do
    TICKS
    CLIENT(0)
    CLIENT(1)
    NODES(NODE)
    DENIES
    :: timeout -> break
  od
}
