/* Fencing tokens on Redlock: nodes that lose state, late messages, forgotten caches.
 *
 * There is no clock here: keys vanish at any moment, messages arrive at any later moment or never.
 * So whatever this model proves about tokens holds for every behaviour of every clock.
 * models/README.md says what is covered; models/cases has the runs.
 */

#ifndef N
#define N 3 /* nodes: 3, 4 or 5 */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2 /* each with a value of its own; a retry is another attempt */
#endif
#ifndef LOSSES
#define LOSSES 0 /* how often a node loses state */
#endif
#ifndef REPEATS
#define REPEATS 0 /* how often a rejoin is begun again, with a higher epoch */
#endif
#ifndef OTHERS
#define OTHERS 0 /* how often other locks move a node's floor */
#endif
#ifndef HINT
#define HINT 0 /* an attempt may say that it knows of this token */
#endif

#ifndef FORGETS
#define FORGETS 1 /* 0: caches are kept */
#endif
#ifndef GIVE_UPS
#define GIVE_UPS 1 /* 0: an attempt never gives up */
#endif

/* What a loss of state is. */
#define OLDER 0 /* the server restarts with any older state of its data */
#define BLANK 1 /* it restarts with nothing */
#define WIPED 2 /* FLUSHALL: nothing is left, but the process and its connections live on */
#ifndef LOSS
#define LOSS OLDER
#endif

/* Rules: 1 is in force, 0 is removed. */
#ifndef MAJORITY_OF_CONFIGURED
#define MAJORITY_OF_CONFIGURED 1
#endif
#ifndef FRESH_VALUE
#define FRESH_VALUE 1 /* an attempt never uses the value of another */
#endif
#ifndef RAISE_BEFORE_USE
#define RAISE_BEFORE_USE 1
#endif
#ifndef RAISE_BY_COMPARE
#define RAISE_BY_COMPARE 1 /* a raise is done only while the key holds our value */
#endif
#ifndef LATE_COUNTER_NEVER_COUNTS
#define LATE_COUNTER_NEVER_COUNTS 1
#endif
#ifndef FLOOR_WITH_CACHE
#define FLOOR_WITH_CACHE 1 /* what is stored in the cache is stored in the floor */
#endif
#ifndef CACHE_BY_EPOCH
#define CACHE_BY_EPOCH 1 /* a cache entry of another epoch is ignored */
#endif
#ifndef REFUSE_LOST_STATE
#define REFUSE_LOST_STATE 1 /* a node without its record does not vote */
#endif
#ifndef COMPARE_RUN_ID
#define COMPARE_RUN_ID 1 /* nor does one whose record is of an earlier process */
#endif
#ifndef NONCE_IN_SCRIPTS
#define NONCE_IN_SCRIPTS 1 /* scripts compare the nonce: a loss without a restart is seen */
#endif
#ifndef CONNECTION_DIES
#define CONNECTION_DIES 1 /* assumption: no request outlives the process it was sent to */
#endif
#ifndef SEAL
#define SEAL 1 /* rejoin seals an epoch; without, it only reads */
#endif
#ifndef READ_IN_SEAL
#define READ_IN_SEAL 1 /* floors are read by the script that seals, not before */
#endif
#ifndef SEAL_ENOUGH_OTHERS
#define SEAL_ENOUGH_OTHERS 1
#endif
#ifndef SEAL_ONLY_ADMITTED
#define SEAL_ONLY_ADMITTED 1
#endif
#ifndef ACQUIRE_CHECKS_EPOCH
#define ACQUIRE_CHECKS_EPOCH 1
#endif
#ifndef RAISE_CHECKS_EPOCH
#define RAISE_CHECKS_EPOCH 1
#endif
/* Only without the seal: what the wait alone is worth. */
#define NO_WAIT 0
#define WAIT_THEN_READ 1
#define READ_THEN_WAIT 2
#ifndef WAIT
#define WAIT NO_WAIT
#endif
#ifndef REACH
#define REACH 0 /* 1: "violated" when a grant counts a node that came back: not vacuous */
#endif

#if MAJORITY_OF_CONFIGURED
#define QUORUM (N / 2 + 1)
#else
#define QUORUM (N / 2)
#endif
#if SEAL_ENOUGH_OTHERS
#define SEALS ((N - 1) / 2 + 1)
#else
#define SEALS ((N - 1) / 2)
#endif
#define EPOCHS (LOSSES + REPEATS)
#if N == 4 && LOSSES
#error "nodes that lose state: three or five nodes"
#endif

/* Nodes. */
byte own[N];   /* the key: 0 free, else the value of an attempt */
byte floor[N]; /* in the node record */
byte cache[N]; /* of this lock; 0: forgotten */
byte cache_epoch[N];
byte epoch[N];
bit out[N]; /* it does not vote: it lost state and has not come back */

/* An older state of a node, which a loss may bring back. At first the one that init wrote. */
byte old_own[N], old_floor[N], old_cache[N], old_cache_epoch[N], old_epoch[N];
bit kept[N];

/* Rejoin of a node: what its driver has read. */
byte losses, newest_epoch, repeats;
byte join_epoch[N], join_floor[N];
bit was_read[N * N], sealed[N * N];

/* Attempts. */
#define IDLE 0
#define ASKING 1
#define RAISING 2
#define HELD 3
#define OVER 4
byte phase[ATTEMPTS];
byte token[ATTEMPTS];
byte before[ATTEMPTS]; /* the largest token that was granted before it began */
byte carries[ATTEMPTS]; /* its epoch */
byte hint[ATTEMPTS];
byte counter[ATTEMPTS * N]; /* what acquire returned; 0: not executed */
bit counted[ATTEMPTS * N];  /* confirmed at >= token */
bit sent_before[ATTEMPTS * N]; /* its acquire was sent before the node lost state */
byte granted;               /* the largest token granted so far */
byte others, t;             /* t: zero between two steps */

#define AT(a, i) ((a) * N + (i))
#define MAX(x, y) ((x) > (y) -> (x) : (y))
/* Without a fresh value attempt 1 is a retry of attempt 0. */
#if FRESH_VALUE
#define VALUE(a) ((a) + 1)
#define MAY_START(a) (a == 0 || phase[(a + ATTEMPTS - 1) % ATTEMPTS] != IDLE)
#else
#define VALUE(a) ((a) < 2 -> 1 : (a) + 1)
#define MAY_START(a) (a != 1 || phase[0] == OVER)
#endif

#if N == 3
#define NODES(M) M(0) M(1) M(2)
#define NODES_OF(M, a) M(a, 0) M(a, 1) M(a, 2)
#define SUM(M, a) (M(a, 0) + M(a, 1) + M(a, 2))
#define SUBSETS(M, a) M(a, 3) M(a, 5) M(a, 6) M(a, 7)
#elif N == 4
#define NODES(M) M(0) M(1) M(2) M(3)
#define NODES_OF(M, a) M(a, 0) M(a, 1) M(a, 2) M(a, 3)
#define SUM(M, a) (M(a, 0) + M(a, 1) + M(a, 2) + M(a, 3))
#if MAJORITY_OF_CONFIGURED
#define SUBSETS(M, a) M(a, 7) M(a, 11) M(a, 13) M(a, 14) M(a, 15)
#else
#define SUBSETS(M, a) M(a, 3) M(a, 12) M(a, 7) M(a, 11) M(a, 13) M(a, 14) M(a, 15)
#endif
#else
#define NODES(M) M(0) M(1) M(2) M(3) M(4)
#define NODES_OF(M, a) M(a, 0) M(a, 1) M(a, 2) M(a, 3) M(a, 4)
#define SUM(M, a) (M(a, 0) + M(a, 1) + M(a, 2) + M(a, 3) + M(a, 4))
#define SUBSETS(M, a)                                                                             \
  M(a, 7) M(a, 11) M(a, 13) M(a, 14) M(a, 19) M(a, 21) M(a, 22) M(a, 25) M(a, 26) M(a, 28)        \
  M(a, 15) M(a, 23) M(a, 27) M(a, 29) M(a, 30) M(a, 31)
#endif
#if ATTEMPTS == 2
#define EACH_ATTEMPT(M) M(0) M(1)
#define EACH_ATTEMPT_AT(M, i) M(0, i) M(1, i)
#else
#define EACH_ATTEMPT(M) M(0) M(1) M(2)
#define EACH_ATTEMPT_AT(M, i) M(0, i) M(1, i) M(2, i)
#endif

#if LOSS == WIPED
#define OUTLIVES !NONCE_IN_SCRIPTS
#else
#define OUTLIVES !CONNECTION_DIES
#endif
#define REACHES(a, i) (sent_before[AT(a, i)] -> OUTLIVES : !out[i])
#if SEAL && ACQUIRE_CHECKS_EPOCH
#define ACQUIRE_MAY(a, i) (REACHES(a, i) && epoch[i] == carries[a])
#else
#define ACQUIRE_MAY(a, i) REACHES(a, i)
#endif
#if SEAL && RAISE_CHECKS_EPOCH
#define RAISE_MAY_EPOCH(a, i) (!out[i] && epoch[i] == carries[a])
#else
#define RAISE_MAY_EPOCH(a, i) (!out[i])
#endif
#if RAISE_BY_COMPARE
#define RAISE_MAY(a, i) (RAISE_MAY_EPOCH(a, i) && own[i] == VALUE(a))
#else
#define RAISE_MAY(a, i) RAISE_MAY_EPOCH(a, i)
#endif

#if CACHE_BY_EPOCH
#define CACHED(i) (cache[i] != 0 && cache_epoch[i] == epoch[i])
#else
#define CACHED(i) (cache[i] != 0)
#endif
#if FLOOR_WITH_CACHE
#define LIFT_FLOOR(i, to) floor[i] = MAX(floor[i], to)
#else
#define LIFT_FLOOR(i, to) skip
#endif
#define LIFT(i, to)                                                                               \
  LIFT_FLOOR(i, to);                                                                              \
  cache[i] = (CACHED(i) && cache[i] > (to) -> cache[i] : (to));                                   \
  cache_epoch[i] = epoch[i]

/* An attempt begins: all nodes are asked. It may believe in any epoch there ever was, and no two
   rejoins choose the same: what happens when they do is in epochs.pml. */
#if HINT
#define START(a, e) START_WITH(a, e, 0) START_WITH(a, e, HINT)
#else
#define START(a, e) START_WITH(a, e, 0)
#endif
#define START_WITH(a, e, h)                                                                       \
  ::d_step {                                                                                      \
    phase[a] == IDLE && MAY_START(a) && e <= newest_epoch ->                                      \
    printf("> attempt %d begins in epoch %d, hint %d\n", a, e, h);                                \
    phase[a] = ASKING; before[a] = granted; carries[a] = e; hint[a] = h                           \
  }

/* The acquire script runs at node i, perhaps long after its attempt ended. After the end only the
   fact that it ran is kept, or (held) whether a raise may still follow. */
#define ACQUIRE(a, i)                                                                             \
  ::d_step {                                                                                      \
    phase[a] != IDLE && counter[AT(a, i)] == 0 && ACQUIRE_MAY(a, i) && own[i] == 0 ->             \
    t = (CACHED(i) -> cache[i] : floor[i]);                                                       \
    t = MAX(t, hint[a]) + 1;                                                                      \
    printf("> node %d: acquire of attempt %d returns %d\n", i, a, t);                             \
    LIFT(i, t);                                                                                   \
    own[i] = VALUE(a);                                                                            \
    counter[AT(a, i)] =                                                                           \
        (phase[a] == OVER -> 1 : (phase[a] < HELD -> t : (t <= token[a] -> 1 : 2)));              \
    t = 0                                                                                         \
  }

/* The answers of the nodes in s are known: the token is chosen, or chosen anew if not used yet. */
#define HAS(a, s, i) (((s) & (1 << (i))) == 0 || counter[AT(a, i)] != 0)
#define TOP(a, s, i) t = (((s) & (1 << (i))) && counter[AT(a, i)] > t -> counter[AT(a, i)] : t)
#if RAISE_BEFORE_USE
#define COUNT(a, s, i) counted[AT(a, i)] = (((s) & (1 << (i))) && counter[AT(a, i)] == token[a])
#else
#define COUNT(a, s, i) counted[AT(a, i)] = (((s) & (1 << (i))) != 0)
#endif
#if N == 3
#define HAS_ALL(a, s) (HAS(a, s, 0) && HAS(a, s, 1) && HAS(a, s, 2))
#define TOP_ALL(a, s) TOP(a, s, 0); TOP(a, s, 1); TOP(a, s, 2)
#define COUNT_ALL(a, s) COUNT(a, s, 0); COUNT(a, s, 1); COUNT(a, s, 2)
#elif N == 4
#define HAS_ALL(a, s) (HAS(a, s, 0) && HAS(a, s, 1) && HAS(a, s, 2) && HAS(a, s, 3))
#define TOP_ALL(a, s) TOP(a, s, 0); TOP(a, s, 1); TOP(a, s, 2); TOP(a, s, 3)
#define COUNT_ALL(a, s) COUNT(a, s, 0); COUNT(a, s, 1); COUNT(a, s, 2); COUNT(a, s, 3)
#else
#define HAS_ALL(a, s)                                                                             \
  (HAS(a, s, 0) && HAS(a, s, 1) && HAS(a, s, 2) && HAS(a, s, 3) && HAS(a, s, 4))
#define TOP_ALL(a, s) TOP(a, s, 0); TOP(a, s, 1); TOP(a, s, 2); TOP(a, s, 3); TOP(a, s, 4)
#define COUNT_ALL(a, s)                                                                           \
  COUNT(a, s, 0); COUNT(a, s, 1); COUNT(a, s, 2); COUNT(a, s, 3); COUNT(a, s, 4)
#endif
#define BEST(a, s, i) (((s) & (1 << (i))) && counter[AT(a, i)] > token[a])
#if N == 3
#define BETTER(a, s) (BEST(a, s, 0) || BEST(a, s, 1) || BEST(a, s, 2))
#elif N == 4
#define BETTER(a, s) (BEST(a, s, 0) || BEST(a, s, 1) || BEST(a, s, 2) || BEST(a, s, 3))
#else
#define BETTER(a, s)                                                                              \
  (BEST(a, s, 0) || BEST(a, s, 1) || BEST(a, s, 2) || BEST(a, s, 3) || BEST(a, s, 4))
#endif
#define CHOOSE(a, s)                                                                              \
  ::d_step {                                                                                      \
    (phase[a] == ASKING || phase[a] == RAISING) && HAS_ALL(a, s) && BETTER(a, s) ->               \
    TOP_ALL(a, s);                                                                                \
    token[a] = t; t = 0; phase[a] = RAISING;                                                      \
    printf("> attempt %d chooses token %d from the nodes of mask %d\n", a, token[a], s);          \
    COUNT_ALL(a, s)                                                                               \
  }

/* A raise runs at node i; one that was asked after a loss goes over a new connection. */
#define RAISE(a, i)                                                                               \
  ::d_step {                                                                                      \
    (phase[a] == RAISING || phase[a] == HELD) && counter[AT(a, i)] != 0 && !counted[AT(a, i)] &&  \
        (phase[a] == HELD -> counter[AT(a, i)] == 1 : counter[AT(a, i)] <= token[a]) &&           \
        RAISE_MAY(a, i) ->                                                                        \
    printf("> node %d: raise of attempt %d to %d\n", i, a, token[a]);                             \
    counted[AT(a, i)] = 1;                                                                        \
    LIFT(i, token[a])                                                                             \
  }

/* An answer of acquire comes after the token was chosen. */
#if LATE_COUNTER_NEVER_COUNTS
#define COUNTS_LATE(a, i) (counter[AT(a, i)] == token[a])
#else
#define COUNTS_LATE(a, i) (counter[AT(a, i)] >= token[a])
#endif
#define LATE(a, i)                                                                                \
  ::d_step {                                                                                      \
    phase[a] == RAISING && counter[AT(a, i)] != 0 && !counted[AT(a, i)] && COUNTS_LATE(a, i) ->   \
    printf("> attempt %d counts the late answer of node %d\n", a, i);                             \
    counted[AT(a, i)] = 1                                                                         \
  }

#define IS_COUNTED(a, i) counted[AT(a, i)]
#define FOLD_HELD(a, i)                                                                           \
  counter[AT(a, i)] = (counter[AT(a, i)] == 0 -> 0 : (counter[AT(a, i)] <= token[a] -> 1 : 2));
#define UNIQUE(b, a) assert((b) == (a) || phase[b] != HELD || token[b] != token[a]);
#if REACH
#define CAME_BACK(a) assert(!(carries[a] > 0 && counted[AT(a, 0)] && granted > 0));
#else
#define CAME_BACK(a)
#endif
#define HOLD(a)                                                                                   \
  ::d_step {                                                                                      \
    phase[a] == RAISING && SUM(IS_COUNTED, a) >= QUORUM ->                                        \
    printf("> attempt %d HOLDS with token %d\n", a, token[a]);                                    \
    CAME_BACK(a)                                                                                  \
    phase[a] = HELD;                                                                              \
    assert(token[a] > before[a]);                                                                 \
    EACH_ATTEMPT_AT(UNIQUE, a)                                                                    \
    granted = MAX(granted, token[a]);                                                             \
    NODES_OF(FOLD_HELD, a)                                                                        \
    before[a] = 0; hint[a] = 0                                                                    \
  }

#define FOLD_OVER(a, i)                                                                           \
  counter[AT(a, i)] = (counter[AT(a, i)] != 0 -> 1 : 0); counted[AT(a, i)] = 0;
#if GIVE_UPS
#define GIVE_UP(a)                                                                                \
  ::d_step {                                                                                      \
    phase[a] == ASKING || phase[a] == RAISING ->                                                  \
    printf("> attempt %d gives up\n", a);                                                         \
    phase[a] = OVER; token[a] = 0; before[a] = 0;                                                 \
    NODES_OF(FOLD_OVER, a)                                                                        \
  }
#else
#define GIVE_UP(a)
#endif

/* The key goes: its ttl, any step of any clock, a release, an eviction. */
#define EXPIRE(i)                                                                                 \
  ::d_step { own[i] != 0 -> printf("> node %d: the key goes\n", i); own[i] = 0 }
#if FORGETS
#define FORGET(i)                                                                                 \
  ::d_step {                                                                                      \
    cache[i] != 0 ->                                                                              \
    printf("> node %d: forgets its cache\n", i); cache[i] = 0; cache_epoch[i] = 0                 \
  }
#else
#define FORGET(i)
#endif
#if OTHERS
#define OTHER(i)                                                                                  \
  ::d_step {                                                                                      \
    others < OTHERS ->                                                                            \
    printf("> node %d: another lock moves the floor\n", i); others++; floor[i]++                  \
  }
#else
#define OTHER(i)
#endif

#if LOSSES
#if LOSS == WIPED
#define SEEN NONCE_IN_SCRIPTS
#elif LOSS == BLANK
#define SEEN REFUSE_LOST_STATE
#else
#define SEEN COMPARE_RUN_ID
#endif
/* The state that a later loss will bring back. */
#if LOSS == OLDER
#define KEEP(i)                                                                                   \
  ::d_step {                                                                                      \
    losses < LOSSES && losses >= i && !kept[i] && !out[i] ->                                      \
    printf("> node %d: this state is kept by a backup\n", i);                                     \
    kept[i] = 1;                                                                                  \
    old_own[i] = own[i]; old_floor[i] = floor[i]; old_cache[i] = cache[i];                        \
    old_cache_epoch[i] = cache_epoch[i]; old_epoch[i] = epoch[i]                                  \
  }
#else
#define KEEP(i)
#endif
#define DIE(a, i) sent_before[AT(a, i)] = (phase[a] != IDLE);
#if N == 3
#define NOT_READ(i)                                                                               \
  was_read[AT(i, 0)] = 0; was_read[AT(i, 1)] = 0; was_read[AT(i, 2)] = 0;                         \
  sealed[AT(i, 0)] = 0; sealed[AT(i, 1)] = 0; sealed[AT(i, 2)] = 0
#else
#define NOT_READ(i)                                                                               \
  was_read[AT(i, 0)] = 0; was_read[AT(i, 1)] = 0; was_read[AT(i, 2)] = 0; was_read[AT(i, 3)] = 0; \
  was_read[AT(i, 4)] = 0;                                                                         \
  sealed[AT(i, 0)] = 0; sealed[AT(i, 1)] = 0; sealed[AT(i, 2)] = 0; sealed[AT(i, 3)] = 0;         \
  sealed[AT(i, 4)] = 0
#endif
/* By symmetry the first that loses state is node 0, the second node 0 or 1. */
#define LOSE(i)                                                                                   \
  ::d_step {                                                                                      \
    losses < LOSSES && losses >= i && !out[i] ->                                                  \
    losses++;                                                                                     \
    own[i] = old_own[i]; floor[i] = old_floor[i]; cache[i] = old_cache[i];                        \
    cache_epoch[i] = old_cache_epoch[i]; epoch[i] = old_epoch[i];                                 \
    old_own[i] = 0; old_floor[i] = 0; old_cache[i] = 0; old_cache_epoch[i] = 0;                   \
    old_epoch[i] = 0; kept[i] = 0;                                                                \
    printf("> node %d: LOSES STATE, has floor %d\n", i, floor[i]);                                \
    EACH_ATTEMPT_AT(DIE, i)                                                                       \
    out[i] = SEEN;                                                                                \
    join_floor[i] = 0; newest_epoch++; join_epoch[i] = newest_epoch; NOT_READ(i)                  \
  }
/* Its driver dies, another begins again with a higher epoch. */
#define REPEAT(i)                                                                                 \
  ::d_step {                                                                                      \
    repeats < REPEATS && out[i] ->                                                                \
    printf("> rejoin of node %d: begun again\n", i);                                              \
    repeats++; join_floor[i] = 0; newest_epoch++; join_epoch[i] = newest_epoch; NOT_READ(i)       \
  }
#define WAITED_FOR(a, i) (!sent_before[AT(a, i)] || phase[a] >= HELD)
#if ATTEMPTS == 2
#define WAITED(i) (WAITED_FOR(0, i) && WAITED_FOR(1, i))
#else
#define WAITED(i) (WAITED_FOR(0, i) && WAITED_FOR(1, i) && WAITED_FOR(2, i))
#endif
#define MAY_READ(i) (WAIT != WAIT_THEN_READ || WAITED(i))
#define MAY_WRITE(i) (WAIT == NO_WAIT || WAITED(i))
#define READ(i, y)                                                                                \
  ::d_step {                                                                                      \
    (i) != (y) && out[i] && !was_read[AT(i, y)] && !(SEAL && READ_IN_SEAL) &&                     \
        (!SEAL_ONLY_ADMITTED || !out[y]) && MAY_READ(i) ->                                        \
    printf("> rejoin of node %d: reads floor %d of node %d\n", i, floor[y], y);                   \
    was_read[AT(i, y)] = 1; sealed[AT(i, y)] = !SEAL;                                             \
    join_floor[i] = MAX(join_floor[i], floor[y])                                                  \
  }
#define SEALING(i, y)                                                                             \
  ::d_step {                                                                                      \
    SEAL && (i) != (y) && out[i] && !sealed[AT(i, y)] && (READ_IN_SEAL || was_read[AT(i, y)]) &&  \
        (!SEAL_ONLY_ADMITTED || !out[y]) && epoch[y] < join_epoch[i] ->                           \
    printf("> rejoin of node %d: seals epoch %d on node %d, floor %d\n", i, join_epoch[i], y,     \
           floor[y]);                                                                             \
    sealed[AT(i, y)] = 1; epoch[y] = join_epoch[i];                                               \
    join_floor[i] = (READ_IN_SEAL -> MAX(join_floor[i], floor[y]) : join_floor[i])                \
  }
#define IS_SEALED(i, y) sealed[AT(i, y)]
#define WRITE(i)                                                                                  \
  ::d_step {                                                                                      \
    out[i] && SUM(IS_SEALED, i) >= SEALS && MAY_WRITE(i) ->                                       \
    out[i] = 0;                                                                                   \
    floor[i] = MAX(floor[i], join_floor[i]);                                                      \
    epoch[i] = (SEAL -> join_epoch[i] : epoch[i]);                                                \
    printf("> node %d: votes again, floor %d\n", i, floor[i]);                                    \
    join_floor[i] = 0; join_epoch[i] = 0; NOT_READ(i)                                             \
  }
#define LOSER(i) KEEP(i) LOSE(i) REPEAT(i) WRITE(i) NODES_OF(READ, i) NODES_OF(SEALING, i)
#if LOSSES == 1
#define LOSERS LOSER(0)
#else
#define LOSERS LOSER(0) LOSER(1)
#endif
#else
#define LOSERS
#endif

#if EPOCHS < 2
#define STARTS(a) START(a, 0) START(a, EPOCHS)
#else
#define STARTS(a) START(a, 0) START(a, 1) START(a, 2)
#endif
#define ATTEMPT(a)                                                                                \
  STARTS(a) NODES_OF(ACQUIRE, a) SUBSETS(CHOOSE, a) NODES_OF(RAISE, a) NODES_OF(LATE, a) HOLD(a)  \
  GIVE_UP(a)
#define NODE(i) EXPIRE(i) FORGET(i) OTHER(i)

init {
  do
    EACH_ATTEMPT(ATTEMPT)
    NODES(NODE)
    LOSERS
    :: timeout -> break
  od
}
