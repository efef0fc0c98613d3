# What every suite of the command line starts with. HOLDFAST is the program under test.

# Nothing of the caller's own settings, and a directory of the test's.
bare_surroundings() {
  export HOLDFAST_CONFIG='' MARK="mark-$BATS_SUITE_TEST_NUMBER-$$"
  export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state HOLDFAST_RUN_DIRECTORY=$BATS_TEST_TMPDIR/run
  unset HOLDFAST_STORE HOLDFAST_TTL HOLDFAST_WAIT HOLDFAST_GRACE HOLDFAST_LEASE HOLDFAST_SESSION
  unset HOLDFAST_LOCK HOLDFAST_TOKEN HOLDFAST_OUTER
  cd "$BATS_TEST_TMPDIR" || return
}

setup() {
  bare_surroundings
  store="local:$BATS_TEST_TMPDIR/store"
  need_local
  export HOLDFAST_STORE=$store
}

# Makes the store. Skips where the local engine is left out of the build; fails when it does not
# work.
need_local() {
  local said
  said=$("$HOLDFAST" run setup --store "$store" -- true 2>&1) && return
  [[ $said != *"not part of this build"* ]] || skip "NOT TESTED: no local engine in this build"
  echo "$HOLDFAST: $said"
  return 1
}

# Nothing that a test started may outlive it, the guardian included. What a test killed, or let go
# without a `wait`, may still be ending: that it was gone sooner is for the tests to ask.
teardown() {
  local left tries
  for ((tries = 0; tries < 50; tries++)); do is_gone && return; nap_after "$tries"; done
  left=$(marked)
  [[ -z $left ]] || { ps -o pid,ppid,stat,args -p "${left//$'\n'/,}"; kill -KILL $left; return 1; }
}

# The processes that have this test's mark in their environment, but for the test's own shells.
marked() {
  grep -lxzF "RUNMARK=$MARK" /proc/[0-9]*/environ 2>/dev/null | grep -o '[0-9]*'
}

# holdfast ARGUMENTS: the program, marked and with a limit of time.
holdfast() { RUNMARK=$MARK timeout 60 "$HOLDFAST" "$@"; }

# in_background ARGUMENTS: the same without timeout(1) in between; its pid is in $pid.
in_background() {
  RUNMARK=$MARK "$HOLDFAST" "$@" 3>&- &
  pid=$!
}

# says WORDS...: each is in $output.
says() {
  local words
  for words in "$@"; do
    [[ $output == *"$words"* ]] || { echo "not said: $words"; echo "$output"; return 1; }
  done
}

# nap_after TRIES: a look takes as long as a short nap does; where many tests wait, short ones would
# be most of what the machine does.
nap_after() { if (($1 < 5)); then sleep 0.02; else sleep 0.1; fi; }

# own_port STEP: one of 250 ports that are this suite's own, a multiple of STEP above the first: a
# server that is away for a moment finds its port again. They are above those of other tests, and
# below those that the kernel gives to clients.
own_port() {
  local suites=("$BATS_TEST_DIRNAME"/*.bats) i
  for i in "${!suites[@]}"; do [[ ${suites[i]} -ef $BATS_TEST_FILENAME ]] && break; done
  echo $((27000 + i * 250 + RANDOM % (250 / $1) * $1))
}

# until_true COMMAND: within thirty seconds.
until_true() {
  local end=$((SECONDS + 30)) tries=0
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    nap_after $((tries++))
  done
}

is_gone() { [[ -z $(marked) ]]; }

# process_runs FILE: the one whose pid is in it. What died with its test is a zombie where nobody
# reaps.
process_runs() {
  local pid state
  read -r pid <"$1" || return
  read -r _ _ state _ 2>/dev/null <"/proc/$pid/stat" && [[ $state != Z ]]
}

# expect CODE COMMAND: runs it and compares the exit code.
expect() {
  local want=$1
  shift
  run "$@"
  [[ $status == "$want" ]] || { echo "exit $status, not $want: $*"; echo "$output"; return 1; }
}

# json PROGRAM: the answer in $output, as `a`, given to python.
json() { python3 -c "import json, sys; a = json.loads(sys.argv[1]); $1" "${lines[0]}"; }

# The command of a holder: the file `held` tells that it runs, and it ends when there is `go`.
until_go=(sh -c ': >held; until [ -e go ]; do sleep 0.05; done')

# hold_it OPTIONS: somebody holds "x" until `release`.
hold_it() {
  rm -f held go
  in_background run x "$@" -- "${until_go[@]}"
  holder=$pid
  until_true test -e held
}
release() { : >go; wait "$holder"; }

# unwritten OUTPUT ARGUMENTS: the program, whose standard output is `full` or a pipe that is
# `closed`.
unwritten() {
  RUNMARK=$MARK timeout 60 python3 - "$1" "$HOLDFAST" "${@:2}" <<'T'
import os, subprocess, sys
if sys.argv[1] == "full":
    output = os.open("/dev/full", os.O_WRONLY)
else:
    ours, output = os.pipe()
    os.close(ours)
sys.exit(subprocess.run(sys.argv[2:], stdout=output).returncode)
T
}

# What the suites of several engines ask of HOLDFAST_STORE.

shared_and_permits() {
  hold_it --shared
  expect 0 holdfast run x --shared --no-wait -- true
  expect 75 holdfast run x --no-wait -- true
  release
  hold_it --permits 2
  expect 0 holdfast run x --permits 2 --no-wait -- true
  expect 64 holdfast run x --permits 3 --no-wait -- true
  release
}

# deny_stops_the_holder TTL
deny_stops_the_holder() {
  hold_it --ttl "$1" 2>said
  expect 0 holdfast deny x --why 'a test'
  says 'is denied'
  code=0
  wait "$holder" || code=$?
  [[ $code == 76 ]]
  grep -q 'denied it: a test' said
}

break_takes_the_dead_alone() {
  hold_it --ttl 1h
  expect 75 holdfast break x
  says 'is not broken'
  kill_all_marked
  expect 0 holdfast break x
  says 'its locks are free'
  hold_it --ttl 1h
  kill_all_marked
  expect 0 holdfast run x --no-wait -- true
}

# Of a holder that lives: under another name, as in an image of its container, and in its own place,
# as after a restored backup.
a_copy_of_a_life_lock_is_no_proof() {
  hold_it
  cp -a run copied
  HOLDFAST_RUN_DIRECTORY=$PWD/copied expect 75 holdfast run x --no-wait -- true
  for file in run/life-*/*; do cp -a "$file" copy; mv copy "$file"; done
  expect 75 holdfast run x --no-wait -- true
  expect 0 holdfast show x --json
  json 'assert a["entries"][0]["life"] == "unknown", a'
  expect 75 holdfast break x
  release
}

# The guardian and all that it guards: dead, and their files closed, when this returns.
kill_all_marked() {
  local pids pid
  # Again: the command may have started something after it was looked at.
  until pids=$(marked); [[ -z $pids ]]; do
    kill -KILL $pids 2>/dev/null || true
    for pid in $pids; do until_true has_ended "$pid"; done
  done
  wait "$holder" || true
}

# kill_wrapper PID: what it leaves behind ends by itself, and has, with its files closed, when this
# returns.
kill_wrapper() {
  local pids pid
  pids=$(marked)
  kill -KILL "$1"
  wait "$1" || true
  for pid in $pids; do until_true has_ended "$pid"; done
  until_true is_gone
}

# A killed process is without an environment before its files are closed.
has_ended() {
  local state
  state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null) || true
  [[ -z $state || $state == [ZX]* ]]
}
