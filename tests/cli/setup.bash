# What every suite of the command line starts with. HOLDFAST is the program under test.

setup() {
  export HOLDFAST_CONFIG='' MARK="mark-$BATS_SUITE_TEST_NUMBER-$$"
  unset HOLDFAST_STORE HOLDFAST_TTL HOLDFAST_WAIT HOLDFAST_GRACE HOLDFAST_LEASE HOLDFAST_SESSION
  unset HOLDFAST_LOCK
  cd "$BATS_TEST_TMPDIR" || return
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

# Nothing that a test started may outlive it, the guardian included.
teardown() {
  local left
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

# until_true COMMAND: within thirty seconds.
until_true() {
  local end=$((SECONDS + 30))
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep 0.01
  done
}

is_gone() { [[ -z $(marked) ]]; }

# expect CODE COMMAND: runs it and compares the exit code.
expect() {
  local want=$1
  shift
  run "$@"
  [[ $status == "$want" ]] || { echo "exit $status, not $want: $*"; echo "$output"; return 1; }
}

# json PROGRAM: the answer in $output, as `a`, given to python.
json() { python3 -c "import json, sys; a = json.loads(sys.argv[1]); $1" "${lines[0]}"; }

# hold_it OPTIONS: somebody holds "x" until `release`.
hold_it() {
  rm -f held go
  in_background run x "$@" -- sh -c ': >held; while [ ! -e go ]; do sleep 0.01; done'
  holder=$pid
  until_true test -e held
}
release() { : >go; wait "$holder"; }
