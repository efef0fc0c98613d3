# redis-servers of a suite: numbered, each in a directory of its own below $BATS_FILE_TMPDIR.

# start_server I [PORT [OPTION...]]: on that port, or on a free one of the suite.
start_server() {
  local directory=$BATS_FILE_TMPDIR/$1 i=$1 port=${2:-} tries
  shift 2 || shift $#
  mkdir -p "$directory"
  for ((tries = 0; tries < 20; tries++)); do
    echo "${port:-$(own_port 1)}" >"$directory/port"
    # Else the log of the one before is read for a moment, which was ready, too.
    : >"$directory/log"
    setpriv --pdeathsig KILL redis-server --port "$(<"$directory/port")" --bind 127.0.0.1 \
      --dir "$directory" --save '' "$@" >"$directory/log" 2>&1 3>&- &
    echo $! >"$directory/pid"
    echo "${BATS_TEST_NUMBER:-}" >"$directory/test"
    # An answer might be that of another server, which has the port already.
    until_true eval "grep -q 'Ready to accept' '$directory/log' || ! server_runs $i" || return
    server_runs "$i" && return
  done
  return 1
}

stop_server() {
  [[ -e $BATS_FILE_TMPDIR/$1/pid ]] || return 0
  kill -KILL "$(<"$BATS_FILE_TMPDIR/$1/pid")" 2>/dev/null || true
  until_true eval "! server_runs $1"
}

# Before each test: a server that an earlier test started dies with that one, but perhaps not yet.
revive_server() {
  [[ $(<"$BATS_FILE_TMPDIR/$1/test") == '' ]] && server_runs "$1" && return
  stop_server "$1"
  start_server "$1" "$(port_of "$1")"
}

server_runs() { process_runs "$BATS_FILE_TMPDIR/$1/pid"; }
# A server that hangs, and goes on.
hang() { kill -STOP "$(<"$BATS_FILE_TMPDIR/$1/pid")"; }
go_on() { kill -CONT "$(<"$BATS_FILE_TMPDIR/$1/pid")"; }

# ends_at_once CODE SIGNAL ARGUMENTS: holdfast, which waits ten seconds for a server that hangs, and
# then gets the signal. A shell ignores INT in its background jobs: python puts it back first.
ends_at_once() {
  local want=$1 signal=$2 began code=0
  shift 2
  RUNMARK=$MARK python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$HOLDFAST" "$@" >said 2>&1 3>&- &
  pid=$!
  # Until then SIGINT is ignored, as in all that a shell starts in the background.
  until_true grep -qx "$(basename "$HOLDFAST")" "/proc/$pid/comm"
  sleep 0.5
  began=$(date +%s%3N)
  kill "-$signal" "$pid"
  wait "$pid" || code=$?
  began=$(($(date +%s%3N) - began))
  ((code == want && began < 5000)) && [[ ! -s said ]] && is_gone && return
  echo "$*: exit $code, not $want, after $began ms"
  cat said
  return 1
}

port_of() { echo "$(<"$BATS_FILE_TMPDIR/$1/port")"; }
cli() { redis-cli -p "$(port_of "$1")" "${@:2}"; }
