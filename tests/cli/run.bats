#!/usr/bin/env bats

load setup

@test "the command's exit code is ours" {
  for code in 0 1 75 76 255; do expect $code holdfast run x -- sh -c "exit $code"; done
}

@test "a command that is there and cannot be run is 126 and says why, one that is not is 127" {
  printf '#!/is/not/there\n' >script
  chmod +x script
  expect 126 holdfast run x -- ./script
  says './script: ' 'the interpreter of its first line' 'is not there'
  printf 'no program\n' >script
  expect 126 holdfast run x -- ./script
  says 'Exec format error'
  chmod -x script
  expect 126 holdfast run x -- ./script
  expect 126 holdfast run x -- ./script/below
  says 'Not a directory'
  rm script
  expect 127 holdfast run x -- ./script
  expect 127 holdfast run x -- is-not-there
}

@test "a command that gets too many arguments with the variables of run is 126" {
  # They just fit for the program itself.
  output=$(python3 - <<'T'
import errno, os, resource, subprocess
resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, 4 << 20))  # A quarter is for arguments.
for size in range(1 << 20, 900000, -64):
    words = ['x' * (size // 16)] * 16
    try:
        done = subprocess.run([os.environ['HOLDFAST'], 'run', 'x', '--', 'true', *words],
                              stderr=subprocess.PIPE, text=True)
    except OSError as e:
        assert e.errno == errno.E2BIG, e
    else:
        print(done.returncode, done.stderr)
        break
T
  )
  says '126 holdfast: ' '/true: Argument list too long' 'run adds some variables'
}

@test "a command that dies of a signal gives 128+n" {
  expect 137 holdfast run x -- sh -c 'kill -KILL $$'
  expect 143 holdfast run x -- sh -c 'kill -TERM $$'
}

@test "standard input and output belong to the command" {
  run bash -c 'echo word | RUNMARK=$MARK "$HOLDFAST" run x -- cat'
  [[ $status == 0 && $output == word ]]
}

@test "nothing is said without --verbose" {
  expect 0 holdfast run x -- true
  [[ -z $output ]]
  expect 0 holdfast run x --verbose -- true
  [[ $output == *granted* ]]
}

@test "the command finds name, token, session and store" {
  expect 0 holdfast run 'a b' -- sh -c \
    'echo "$HOLDFAST_LOCK|$HOLDFAST_STORE|$HOLDFAST_TOKEN|$HOLDFAST_SESSION"'
  [[ $output =~ ^a\ b\|$store\|[0-9]+\|[0-9a-f]{32}$ ]]
}

@test "check is 0, 75, 76 or 64" {
  expect 64 holdfast check
  expect 0 holdfast run x --ttl 20s -- "$HOLDFAST" check --for 1s
  expect 75 holdfast run x --ttl 20s -- "$HOLDFAST" check --for 30s
  expect 0 holdfast run x --ttl 20s -- "$HOLDFAST" check --verbose
  [[ $output -gt 10000 && $output -lt 20000 ]]
  expect 0 holdfast run x --ttl 20s -- "$HOLDFAST" check --json
  [[ $output == *'"valid":true'* ]]
  holdfast run x -- env >env.txt
  expect 76 env $(grep -E '^HOLDFAST_(LEASE|SESSION|LOCK)=' env.txt) "$HOLDFAST" check
  expect 64 holdfast run x -- "$HOLDFAST" check --for 3
}

@test "check in another pid namespace sees the lease, or says that it cannot" {
  unshare --pid --fork --mount-proc true ||
    skip "NOT TESTED: the kernel refuses new pid namespaces (needs root)"
  # With the outer /proc its guardian is visible, with an inner one it is not, but lives.
  expect 0 holdfast run x --ttl 30s -- unshare --pid --fork "$HOLDFAST" check --for 1s
  expect 69 holdfast run x --ttl 30s -- unshare --pid --fork --mount-proc "$HOLDFAST" check
  [[ $output == *"another pid namespace"* && $output != *"is over"* ]]
  bwrap --dev-bind / / true || skip "NOT TESTED: bwrap does not work here"
  expect 69 holdfast run x --ttl 30s -- bwrap --dev-bind / / --unshare-pid --proc /proc \
    "$HOLDFAST" check
}

@test "check in another time namespace never takes that clock for its own" {
  unshare --time --boottime -1000 true 2>/dev/null ||
    unshare --time --boottime 1000 true 2>/dev/null ||
    skip "NOT TESTED: the kernel refuses new time namespaces (needs root)"
  # Such a clock would show a lease that never ends, or one that is over.
  for offset in -1000 1000; do
    unshare --time --boottime $offset true 2>/dev/null || continue
    expect 69 holdfast run x --ttl 30s -- unshare --time --boottime $offset "$HOLDFAST" check
    [[ $output == *"another time namespace"* ]]
  done
}

@test "a command outlives its ttl while heartbeats go on" {
  expect 4 holdfast run x --ttl 3s -- sh -c 'sleep 4.2; exit 4'
}

@test "INT, TERM, HUP, QUIT, USR1 and USR2 reach the command" {
  for signal in INT TERM HUP QUIT USR1 USR2; do
    rm -f ready
    # A shell ignores INT and QUIT in its background jobs: python puts them back first.
    RUNMARK=$MARK python3 -c 'import os, signal, sys
for s in (signal.SIGINT, signal.SIGQUIT): signal.signal(s, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$HOLDFAST" run x -- \
      bash -c 'trap "exit 9" '$signal'; : >ready; while :; do sleep 0.02; done' 3>&- &
    pid=$!
    until_true test -e ready
    kill -$signal $pid
    wait $pid || code=$?
    [[ $code == 9 ]]
  done
}

@test "kill -9 of the wrapper ends everything, setsid and double forks too" {
  in_background run x -- sh -c "trap '' TERM; setsid sleep 60 &
    (setsid sh -c 'sleep 60 & sleep 60' &)
    : >ready
    sleep 60"
  until_true test -e ready
  kill -KILL $pid
  wait $pid || true
  until_true is_gone
}

@test "kill -9 of the guardian ends everything and is 76" {
  in_background run x -- sh -c "trap '' TERM; setsid sleep 60 & : >ready; sleep 60"
  until_true test -e ready
  kill -KILL "$(pgrep -P $pid)"
  code=0
  wait $pid || code=$?
  [[ $code == 76 ]]
  is_gone
}

@test "a guardian that is killed before it has begun with the command ran nothing, and that is 69" {
  hold_it
  in_background run x -v -- touch ran 2>said
  until_true eval "holdfast show x | grep -q waiting"
  # The wrapper continues one that is stopped, and not one that is traced: 16 is PTRACE_ATTACH.
  cat >trace.py <<'T'
import ctypes, os, signal, sys, time
guardian = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
if libc.ptrace(16, guardian, None, None) != 0: sys.exit(1)
os.waitpid(guardian, 0x40000000)
open("traced", "w").close()
while not os.path.exists("kill"): time.sleep(0.05)
os.kill(guardian, signal.SIGKILL)
os.waitpid(guardian, 0x40000000)
T
  python3 trace.py "$(pgrep -P $pid)" 3>&- &
  tracer=$!
  until_true eval "[[ -e traced || ! -d /proc/$tracer ]]"
  [[ -e traced ]] || { release; wait $pid; skip "NOT TESTED: nothing can be traced here"; }
  release
  until_true grep -q granted said
  sleep 1
  : >kill
  wait $tracer
  code=0
  wait $pid || code=$?
  output=$(<said)
  says 'the guardian was killed before the command started; nothing was run [unavailable]'
  [[ $code == 69 && ! -e ran ]]
}

@test "a guardian that stood still with its wrapper was late, and is not said to have been killed" {
  in_background run x --ttl 3s -- sh -c ': >ready; exec sleep 60' 2>said
  until_true test -e ready
  guardian=$(pgrep -P $pid)
  kill -STOP $pid $guardian
  # The lock passes to another when the lease is over.
  expect 0 holdfast run x --wait 50s -- true
  kill -CONT $pid
  code=0
  wait $pid || code=$?
  [[ $code == 76 ]]
  output=$(<said)
  says "its guardian did not end the command when the lease was over"
  is_gone
}

@test "a wrapper that was stopped for longer than its ttl says that it was late" {
  in_background run x --ttl 3s -- sh -c ': >ready; exec sleep 60' 2>said
  until_true test -e ready
  kill -STOP $pid
  expect 0 holdfast run x --wait 50s -- true
  kill -CONT $pid
  code=0
  wait $pid || code=$?
  [[ $code == 76 ]]
  output=$(<said)
  says 'of a ttl of 3s; this process was ' 's late to act: it was stopped or suspended'
  is_gone
}

@test "kill -9 of the command is its exit code" {
  in_background run x -- sh -c 'echo $$ >command; sleep 60'
  until_true test -s command
  kill -KILL "$(cat command)"
  code=0
  wait $pid || code=$?
  [[ $code == 137 ]]
  is_gone
}

@test "a wrapper that is stopped past the lease: the command ends before it, and the code is 76" {
  in_background run x --ttl 5s -- python3 -c 'import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
f = open("last", "wb", 0)
while True:
  f.seek(0); f.write(b"%d" % (time.time() * 1000))'
  until_true test -s last
  stopped_one=$pid
  kill -STOP $stopped_one
  # The lease of another passes the lock on, and not the end of the command: that is the wrapper's.
  expect 0 holdfast run x --wait 50s -- date +%s%3N
  (($(cat last) < output))
  pid=$stopped_one
  [[ -z $(pgrep -P "$(pgrep -P $pid)") ]]
  kill -CONT $pid
  code=0
  wait $pid || code=$?
  [[ $code == 76 ]]
}

@test "what a command leaves behind is ended" {
  expect 3 holdfast run x --grace 200ms -- sh -c 'setsid sleep 60 & exit 3'
  is_gone
}

@test "no descriptor of ours reaches the command" {
  expect 0 holdfast run x -- sh -c 'ls /proc/self/fd | wc -l'
  with=$output
  expect 0 sh -c 'ls /proc/self/fd | wc -l'
  ((with <= output + 1))
}
