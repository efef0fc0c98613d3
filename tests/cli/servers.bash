# redis-servers of a suite: numbered, each in a directory of its own below $BATS_FILE_TMPDIR.

# start_server I [PORT [OPTION...]]: on that port, or on a free one below those that the kernel
# gives to clients, and above those of the other tests.
start_server() {
  local directory=$BATS_FILE_TMPDIR/$1 i=$1 port=${2:-} tries
  shift 2 || shift $#
  mkdir -p "$directory"
  for ((tries = 0; tries < 20; tries++)); do
    echo "${port:-$((27000 + (RANDOM * 32768 + RANDOM) % 2000))}" >"$directory/port"
    setpriv --pdeathsig KILL redis-server --port "$(<"$directory/port")" --bind 127.0.0.1 \
      --dir "$directory" --save '' "$@" >"$directory/log" 2>&1 3>&- &
    echo $! >"$directory/pid"
    # An answer might be that of another server, which has the port already.
    until_true eval "grep -q 'Ready to accept' '$directory/log' || ! server_runs $i" || return
    server_runs "$i" && return
  done
  return 1
}

stop_server() {
  [[ -e $BATS_FILE_TMPDIR/$1/pid ]] || return 0
  kill -KILL "$(<"$BATS_FILE_TMPDIR/$1/pid")" 2>/dev/null
  until_true eval "! server_runs $1"
}

# One that died with its test is a zombie where nobody reaps.
server_runs() { [[ $(ps -o stat= -p "$(<"$BATS_FILE_TMPDIR/$1/pid")") == [!Z]* ]]; }
port_of() { cat "$BATS_FILE_TMPDIR/$1/port"; }
cli() { redis-cli -p "$(port_of "$1")" "${@:2}"; }
