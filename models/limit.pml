/* max_ttl on Redlock: an operator changes it while nodes are away, and nodes come back with an
 * older record. How long must a node that lost state wait, and what may it allow then? Leases
 * without drift, as in time.pml; every time is kept as what is left or has passed: there is no end.
 *
 * What a driver knows of a node may be of any age: it reads each record at any moment. A seal
 * compares the nonce, and max_ttl changes only with that: it is refused where the driver's
 * knowledge is out of date. models/README.md says what is covered; models/cases has the runs.
 */

/* Rules: 1 is in force, 0 is removed. */
#ifndef WAIT_BY_LONGEST
#define WAIT_BY_LONGEST 1 /* of all records that are known; 0: by the node's own */
#endif
#ifndef WAIT_BY_SEEN_LATER
#define WAIT_BY_SEEN_LATER 1 /* also of those that are read while it waits */
#endif
#ifndef COUNT_AT_EACH_TRY
#define COUNT_AT_EACH_TRY 1 /* also of those that are read after a seal was refused */
#endif
#ifndef REJOIN_WITH_LONGEST
#define REJOIN_WITH_LONGEST 1 /* what it votes with allows as much as others do */
#endif
#ifndef NONCE_IN_SCRIPTS
#define NONCE_IN_SCRIPTS 1 /* a change of max_ttl ends the attempts that began before it */
#endif
#ifndef STOP_BEFORE_LOWERING
#define STOP_BEFORE_LOWERING 1 /* a shorter max_ttl is given when nobody holds a lock */
#endif
#ifndef ANY_TTL
#define ANY_TTL 0 /* 1: both clients have either ttl; 0: one the short, one the long one */
#endif
#ifndef REACH
#define REACH 0 /* 1: "violated" when a long lock is held beside a node that rejoined */
#endif

#define N 3
#define QUORUM 2
#define SHORT 1 /* in ticks: of a session, and as max_ttl */
#define LONG 2

/* Nodes. */
#define FREE 2 /* else the key's owner */
bit out[N];     /* it lost state and waits */
byte limit[N];  /* max_ttl in its record */
byte own[N];    /* its key ends with the owner's count for the node */
byte waited[N]; /* since the loss was seen */
byte must[N];   /* by what was known then; only without WAIT_BY_SEEN_LATER */
bit tried[N];   /* a seal for it was refused; only without COUNT_AT_EACH_TRY */

/* The driver, or its follower: what it last read of each node, zero is nothing. */
byte known[N];

/* Clients, each with one attempt at a time. */
byte ttl[2];        /* zero: it wants nothing now */
byte counts[2 * N]; /* how long the node's key protects */
bit asked[2 * N];   /* the acquire is under way, with the nonce that was read before */
bit holds[2];
bit given;   /* a majority was given the long one, and nobody took it back */
bit came;    /* a node rejoined; only with REACH */
byte except; /* zero between two steps */

#define AT(c, i) ((c) * N + (i))
#define NODES(M) M(0) M(1) M(2)
#define NODES_OF(M, c) M(c, 0) M(c, 1) M(c, 2)
#define COUNTS(c, i) (counts[AT(c, i)] != 0)
#define PROTECTS(c) ((COUNTS(c, 0) + COUNTS(c, 1) + COUNTS(c, 2)) >= QUORUM)
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define OTHERS MAX(known[0], MAX(known[1], known[2]))
#define LONGEST(own) MAX(own, OTHERS)
#if WAIT_BY_LONGEST
#define BY(own) LONGEST(own)
#else
#define BY(own) ((own) != 0 -> (own) : OTHERS)
#endif

/* The properties: one valid holder; and what a majority was given stays at one. */
#define ALLOWS(i, x) (!out[i] && limit[i] == (x))
#define ALLOW(x) (ALLOWS(0, x) + ALLOWS(1, x) + ALLOWS(2, x))
#define CHECK                                                                                     \
  assert(!(PROTECTS(0) && PROTECTS(1)));                                                          \
  given = given || ALLOW(LONG) >= QUORUM;                                                         \
  assert(!given || ALLOW(SHORT) < QUORUM)

/* What a client leaves behind only makes nodes refuse: it is gone at once. */
#define LEAVE(c, i)                                                                               \
  own[i] = (own[i] == (c) -> FREE : own[i]); counts[AT(c, i)] = 0; asked[AT(c, i)] = 0;
#define END(c) ttl[c] = 0; holds[c] = 0; NODES_OF(LEAVE, c)

/* One tick. A lock that was lost never comes back. */
#define LESS(x) x = ((x) > 0 -> (x) - 1 : 0)
#define TICK_NODE(i) waited[i] = (out[i] && waited[i] < LONG -> waited[i] + 1 : waited[i]);
#define TICK_COUNT(c, i)                                                                          \
  LESS(counts[AT(c, i)]); own[i] = (own[i] == (c) && !COUNTS(c, i) -> FREE : own[i]);
#define TICK_CLIENT(c)                                                                            \
  NODES_OF(TICK_COUNT, c)                                                                         \
  if                                                                                              \
  :: holds[c] && !PROTECTS(c) -> printf("> client %d has lost the lock\n", c); END(c)             \
  :: else                                                                                         \
  fi;

#define ASK(c, i) asked[AT(c, i)] = !out[i];
#define START(c, t, text)                                                                         \
  ::d_step { ttl[c] == 0 -> printf(text, c); ttl[c] = t; NODES_OF(ASK, c) }
/* The SET; once the client holds the lock also its extension and repair. When one is executed late
   less is left for the client, to the same end. */
#define SET_OF(c, i)                                                                              \
  ::d_step {                                                                                      \
    !out[i] && ttl[c] != 0 && ttl[c] <= limit[i] && counts[AT(c, i)] < ttl[c] &&                  \
        (own[i] == FREE || own[i] == (c)) && (asked[AT(c, i)] || holds[c]) ->                     \
    printf("> node %d: SET of client %d\n", i, c);                                                \
    own[i] = (c); counts[AT(c, i)] = ttl[c]; asked[AT(c, i)] = 0;                                 \
    holds[c] = holds[c] || PROTECTS(c);                                                           \
    assert(!(came && holds[c] && ttl[c] == LONG));                                                \
    CHECK                                                                                         \
  }
#define RELEASE(c)                                                                                \
  ::d_step { ttl[c] != 0 -> printf("> client %d releases\n", c); END(c) }

/* Requests die with their connections, or are refused for their nonce. */
#define REFUSES(i) asked[AT(0, i)] = 0; asked[AT(1, i)] = 0;
#if NONCE_IN_SCRIPTS
#define CHANGED(i) REFUSES(i)
#else
#define CHANGED(i)
#endif

/* A node goes on with a record from before, or with none, and without its keys. That is named at
   once, by what is known: later, more time has passed. */
#define OTHERS_OF(i) (known[0] + known[1] + known[2] - known[i])
#define LOSE(i, has, text)                                                                        \
  ::d_step {                                                                                      \
    !out[i] && (has) <= limit[i] && (has) + OTHERS_OF(i) != 0 ->                                  \
    printf(text, i);                                                                              \
    out[i] = 1; own[i] = FREE; known[i] = 0; limit[i] = BY(has);                                  \
    must[i] = (WAIT_BY_SEEN_LATER -> 0 : limit[i]);                                               \
    REFUSES(i)                                                                                    \
  }
#define LOOK(i)                                                                                   \
  ::d_step {                                                                                      \
    !out[i] && known[i] != limit[i] ->                                                            \
    printf("> the driver reads node %d\n", i); known[i] = limit[i]                                \
  }
#if WAIT_BY_SEEN_LATER
#define OVER(i) (waited[i] >= BY(limit[i]) || tried[i])
#else
#define OVER(i) (waited[i] >= must[i])
#endif
#define NEWEST(i) (!out[i] && known[i] == limit[i])
#define CAN_ASK(i) (!out[i] && known[i] != 0)
/* Two others are sealed, which is all of them, and the record is written. */
#define REJOIN(i, a, b)                                                                           \
  ::d_step {                                                                                      \
    out[i] && OVER(i) && NEWEST(a) && NEWEST(b) ->                                                \
    printf("> node %d REJOINS\n", i);                                                             \
    limit[i] = (REJOIN_WITH_LONGEST -> LONGEST(limit[i]) : limit[i]);                             \
    out[i] = 0; waited[i] = 0; must[i] = 0; tried[i] = 0; came = REACH;                           \
    CHECK                                                                                         \
  }                                                                                               \
  REFUSED(i, a, b)
#if COUNT_AT_EACH_TRY
#define REFUSED(i, a, b)
#else
#define REFUSED(i, a, b)                                                                          \
  ::d_step {                                                                                      \
    out[i] && !tried[i] && OVER(i) && CAN_ASK(a) && CAN_ASK(b) && !(NEWEST(a) && NEWEST(b)) ->    \
    printf("> a seal for node %d is refused\n", i); tried[i] = 1                                  \
  }
#endif

/* Another process takes the driver's place. */
#define REPLACED                                                                                  \
  ::d_step {                                                                                      \
    OTHERS != 0 ->                                                                                \
    printf("> another driver, which knows nothing\n");                                            \
    known[0] = 0; known[1] = 0; known[2] = 0; tried[0] = 0; tried[1] = 0; tried[2] = 0            \
  }

/* The operator reaches any nodes that vote, one after the other. */
#define RAISE(i)                                                                                  \
  ::d_step {                                                                                      \
    ALLOWS(i, SHORT) ->                                                                           \
    printf("> node %d: max_ttl is made LONG\n", i); limit[i] = LONG; CHANGED(i) CHECK             \
  }
#if STOP_BEFORE_LOWERING
#define STOPPED (ttl[0] == 0 && ttl[1] == 0)
#else
#define STOPPED true
#endif
#define LOWERED(i)                                                                                \
  if                                                                                              \
  :: !out[i] && except != i -> limit[i] = SHORT; CHANGED(i)                                       \
  :: else                                                                                         \
  fi;
#define LOWER(i, text)                                                                            \
  ::d_step {                                                                                      \
    STOPPED && given -> printf(text);                                                             \
    except = i; NODES(LOWERED) except = 0; given = 0; CHECK                                       \
  }

#define SHORT_OF(c) START(c, SHORT, "> client %d asks with the SHORT ttl\n")
#define LONG_OF(c) START(c, LONG, "> client %d asks with the LONG ttl\n")
#define CLIENT(c) NODES_OF(SET_OF, c) RELEASE(c)
#define NODE(i)                                                                                   \
  LOOK(i) RAISE(i)                                                                                \
  LOSE(i, 0, "> node %d: LOSES ITS STATE\n") LOSE(i, SHORT, "> node %d: HAS AN OLDER STATE\n")

init {
  limit[0] = SHORT; limit[1] = SHORT; limit[2] = SHORT;
  own[0] = FREE; own[1] = FREE; own[2] = FREE;
  do
    ::d_step {
      true ->
      printf("> tick\n");
      NODES(TICK_NODE)
      TICK_CLIENT(0)
      TICK_CLIENT(1)
      CHECK
    }
    SHORT_OF(0)
    LONG_OF(1)
#if ANY_TTL
    LONG_OF(0)
    SHORT_OF(1)
#endif
    CLIENT(0)
    CLIENT(1)
    NODES(NODE)
    REJOIN(0, 1, 2)
    REJOIN(1, 0, 2)
    REJOIN(2, 0, 1)
    LOWER(N, "> max_ttl is made SHORT\n")
    LOWER(0, "> max_ttl is made SHORT, but node 0 is away\n")
    REPLACED
  od
}
