/* Part of time.pml: client 0 is denied. Its session is a record at each node, which a denial marks
 * and which a node that loses state loses with the mark. The client renews it like a lock, at all
 * nodes; once it is not in time at a majority it is over, and asks nothing more.
 */
#if DENY
byte session[N] = USABLE; /* how long the record protects, by the client's clock, once denied */
bit denied[N];
bit missing[N];   /* the node lost the record */
bit was_denied;   /* at some nodes; once */
byte since_deny;

#if REFUSE_DENIED
#define SERVES(c, i) ((c) == 1 || (!denied[i] && !missing[i]))
#else
#define SERVES(c, i) true
#endif
#if ASK_IN_SESSION
#define SESSIONS ((session[0] != 0) + (session[1] != 0) + (session[2] != 0))
#define IN_SESSION(c) ((c) == 1 || SESSIONS >= QUORUM)
#else
#define IN_SESSION(c) true
#endif

#define DENY_LIMIT (TTL + RHO_TTL + MARGIN)
#define TICK_DENY                                                                                 \
  since_deny = (was_denied && since_deny < DENY_LIMIT -> since_deny + 1 : since_deny);            \
  assert(since_deny < DENY_LIMIT || !HOLDS(0));
#define TICK_RECORD(c, i)                                                                         \
  session[i] = (!was_denied || (c) == 1 -> session[i] : (session[i] > k -> session[i] - k : 0));
#define TICK_SESSION(c) NODES_OF(TICK_RECORD, c)

/* An operator denies the session of client 0 at N - majority + 1 nodes. */
#if DENY_ENOUGH
#define DENIED_TOO denied[1] = 1
#else
#define DENIED_TOO skip
#endif
/* Renewed at the moment at which it is sent: later it would protect for less. It is opened where
   the node votes, which is after the loss: with the node's new nonce. */
#define RECORD(i)                                                                                 \
  ::d_step {                                                                                      \
    was_denied && VOTES(i) && SERVES(0, i) && IN_SESSION(0) && session[i] < USABLE ->             \
    printf("> node %d: the session is renewed\n", i); session[i] = USABLE                         \
  }                                                                                               \
  ::d_step {                                                                                      \
    missing[i] && VOTES(i) && IN_SESSION(0) ->                                                    \
    printf("> node %d: the session is opened again\n", i); missing[i] = 0                         \
  }
#define DENIES                                                                                    \
  ::d_step {                                                                                      \
    !was_denied -> printf("> client 0 is DENIED\n"); was_denied = 1; denied[0] = 1; DENIED_TOO    \
  }                                                                                               \
  NODES(RECORD)
#define LOSE_RECORD(i) denied[i] = 0; missing[i] = was_denied;
#else
#define SERVES(c, i) true
#define IN_SESSION(c) true
#define TICK_DENY
#define TICK_SESSION(c)
#define DENIES
#define LOSE_RECORD(i)
#endif
