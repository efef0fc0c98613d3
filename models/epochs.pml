/* Epochs on Redlock: rejoins that overlap, on more nodes than tokens.pml can afford.
 *
 * One grant matters, and of every node only whether it knows of it: whether its floor is at least
 * the grant's token. What acquire and raise do to reach that is in tokens.pml. After the grant the
 * store is broken as soon as a majority could grant another one that knows nothing of it.
 * models/README.md says what is covered; models/cases has the runs.
 */

/* Size. */
#ifndef N
#define N 5 /* nodes: 3 to 7 */
#endif
#ifndef LOSSES
#define LOSSES 2 /* how often a node loses state */
#endif
#ifndef EPOCHS
#define EPOCHS 3 /* the highest; at first all nodes are in epoch 0 */
#endif

/* Rules: 1 is in force, 0 is removed. */
#ifndef ASK_ONLY_SEEN
#define ASK_ONLY_SEEN 1 /* an attempt asks nodes that were seen in its epoch before it began */
#endif
#ifndef EQUAL_EPOCHS
#define EQUAL_EPOCHS 1 /* else a node adopts the higher epoch of a client that asks it */
#endif
#ifndef SEAL_ENOUGH_OTHERS
#define SEAL_ENOUGH_OTHERS 1
#endif
#ifndef SEAL_ONLY_ADMITTED
#define SEAL_ONLY_ADMITTED 1
#endif
#ifndef SEAL_HIGHER_ONLY
#define SEAL_HIGHER_ONLY 1 /* a seal of an epoch that the node has already is refused */
#endif
#ifndef REACH
#define REACH 0 /* 1: "violated" when a node came back, was lost again, and the grant is done */
#endif

#define QUORUM (N / 2 + 1)
#if SEAL_ENOUGH_OTHERS
#define SEALS ((N - 1) / 2 + 1)
#else
#define SEALS ((N - 1) / 2)
#endif

byte epoch[N];
bit out[N]; /* it lost state and does not vote */
bit knows[N];
byte losses;

/* Rejoins: the epoch, the nodes sealed so far, and whether one of them knew. */
byte join[N];
byte sealed[N];
bit learned[N];

/* The grant: its epoch, whom it asked, who confirmed it. */
bit begun;
byte carries, votes;
bit asked[N], voted[N]; /* by symmetry nodes 0 to QUORUM - 1 vote */

#define IN(mask, y) (((mask) >> (y)) & 1)
#if N == 3
#define NODES(M, x) M(0, x) M(1, x) M(2, x)
#define OTHERS(M, x) M(0, x) M(1, x) M(2, x)
#define SUM(M, x) (M(0, x) + M(1, x) + M(2, x))
#define COUNT(m) (IN(m, 0) + IN(m, 1) + IN(m, 2))
#elif N == 4
#define NODES(M, x) M(0, x) M(1, x) M(2, x) M(3, x)
#define OTHERS(M, x) M(0, x) M(1, x) M(2, x) M(3, x)
#define SUM(M, x) (M(0, x) + M(1, x) + M(2, x) + M(3, x))
#define COUNT(m) (IN(m, 0) + IN(m, 1) + IN(m, 2) + IN(m, 3))
#elif N == 5
#define NODES(M, x) M(0, x) M(1, x) M(2, x) M(3, x) M(4, x)
#define OTHERS(M, x) M(0, x) M(1, x) M(2, x) M(3, x) M(4, x)
#define SUM(M, x) (M(0, x) + M(1, x) + M(2, x) + M(3, x) + M(4, x))
#define COUNT(m) (IN(m, 0) + IN(m, 1) + IN(m, 2) + IN(m, 3) + IN(m, 4))
#else
#define NODES(M, x) M(0, x) M(1, x) M(2, x) M(3, x) M(4, x) M(5, x) M(6, x)
#define OTHERS(M, x) M(0, x) M(1, x) M(2, x) M(3, x) M(4, x) M(5, x) M(6, x)
#define SUM(M, x)                                                                                 \
  (M(0, x) + M(1, x) + M(2, x) + M(3, x) + M(4, x) + M(5, x) + M(6, x))
#define COUNT(m)                                                                                  \
  (IN(m, 0) + IN(m, 1) + IN(m, 2) + IN(m, 3) + IN(m, 4) + IN(m, 5) + IN(m, 6))
#endif
#if EPOCHS == 2
#define ANY_EPOCH(M, i) M(i, 1) M(i, 2)
#elif EPOCHS == 3
#define ANY_EPOCH(M, i) M(i, 1) M(i, 2) M(i, 3)
#else
#define ANY_EPOCH(M, i) M(i, 1) M(i, 2) M(i, 3) M(i, 4)
#endif

/* Has a majority of one epoch (of any, when nodes adopt the client's) no idea of the grant? */
#if EQUAL_EPOCHS
#define IGNORANT(i, e) (!out[i] && !knows[i] && epoch[i] == (e))
#define CHECK                                                                                     \
  assert(votes < QUORUM || (SUM(IGNORANT, 0) < QUORUM && SUM(IGNORANT, 1) < QUORUM &&             \
                            SUM(IGNORANT, 2) < QUORUM && SUM(IGNORANT, 3) < QUORUM &&             \
                            SUM(IGNORANT, 4) < QUORUM))
#else
#define IGNORANT(i, ignored) (!out[i] && !knows[i])
#define CHECK assert(votes < QUORUM || SUM(IGNORANT, 0) < QUORUM)
#endif

#define IS_OUT(i, ignored) out[i]
#define COUNT_OUT SUM(IS_OUT, 0)
#define SEES(i, e) (!out[i] && epoch[i] == (e))
#define ASK(i, e) asked[i] = (!ASK_ONLY_SEEN || SEES(i, e));
#define BEGIN(e)                                                                                  \
  ::d_step {                                                                                      \
    !begun && SUM(SEES, e) >= (ASK_ONLY_SEEN -> QUORUM : 1) ->                                    \
    printf("> the attempt begins in epoch %d\n", e);                                              \
    begun = 1; carries = e;                                                                       \
    NODES(ASK, e)                                                                                 \
  }

#define BEGINS(ignored, e) BEGIN(e)

/* Node i holds the attempt's value at its token. It may do so long after it was asked, but not
   after it lost state: the nonce is another then. */
#if EQUAL_EPOCHS
#define SERVES(i) (epoch[i] == carries)
#else
#define SERVES(i) (epoch[i] <= carries)
#endif
#define CONFIRM(i)                                                                                \
  ::d_step {                                                                                      \
    begun && (i) < QUORUM && asked[i] && !voted[i] && !out[i] && SERVES(i) ->                     \
    printf("> node %d confirms the attempt\n", i);                                                \
    voted[i] = 1; votes++; knows[i] = 1; epoch[i] = carries;                                      \
    assert(!REACH || votes < QUORUM || losses < LOSSES || COUNT_OUT > 0);                         \
    CHECK                                                                                         \
  }

/* It goes on with any older state, the first one too; what it has left only helps. Which epochs its
   driver has seen is not known: it chooses any. */
#define LOSE(i, e)                                                                                \
  ::d_step {                                                                                      \
    !out[i] && losses < LOSSES ->                                                                 \
    printf("> node %d: LOSES STATE, its rejoin chooses epoch %d\n", i, e);                        \
    losses++; out[i] = 1; knows[i] = 0; asked[i] = asked[i] && !ASK_ONLY_SEEN;                    \
    epoch[i] = 0; join[i] = e                                                                     \
  }
#define SEAL(i, y)                                                                                \
  ::d_step {                                                                                      \
    (i) != (y) && out[i] && (!out[y] || !SEAL_ONLY_ADMITTED) && !IN(sealed[i], y) &&              \
        (epoch[y] < join[i] || (!SEAL_HIGHER_ONLY && epoch[y] == join[i])) ->                     \
    printf("> rejoin of node %d: seals epoch %d on node %d\n", i, join[i], y);                    \
    epoch[y] = join[i]; sealed[i] = sealed[i] | (1 << (y)); learned[i] = learned[i] || knows[y];  \
    CHECK                                                                                         \
  }
#define SEAL_OF(y, i) SEAL(i, y)
#define WRITE(i)                                                                                  \
  ::d_step {                                                                                      \
    out[i] && COUNT(sealed[i]) >= SEALS ->                                                        \
    printf("> node %d: votes again in epoch %d, knows: %d\n", i, join[i], learned[i]);            \
    out[i] = 0; epoch[i] = join[i]; knows[i] = learned[i];                                        \
    join[i] = 0; sealed[i] = 0; learned[i] = 0;                                                   \
    CHECK                                                                                         \
  }
/* A seal of a driver that died, or of a node that lost nothing and only lags behind. */
#define STRAY(i, e)                                                                               \
  ::d_step {                                                                                      \
    !out[i] && epoch[i] < (e) ->                                                                  \
    printf("> another rejoin: seals epoch %d on node %d\n", e, i);                                \
    epoch[i] = e;                                                                                 \
    CHECK                                                                                         \
  }

#define NODE(i, ignored)                                                                          \
  CONFIRM(i) ANY_EPOCH(LOSE, i) OTHERS(SEAL_OF, i) WRITE(i) ANY_EPOCH(STRAY, i)

init {
  do
    BEGIN(0)
    ANY_EPOCH(BEGINS, 0)
    NODES(NODE, 0)
    :: timeout -> break
  od
}
