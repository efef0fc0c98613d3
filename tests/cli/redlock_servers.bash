# Five servers of the suite, and the redlock:// store on them: $at, and HOLDFAST_STORE. Wants
# setup.bash and servers.bash.

# A node that the machine leaves alone for longer than 50 ms is not what this is about. Half of the
# shortest ttl here, and of each max_ttl, is the most that may be said.
patient=node_timeout=1s

setup_file() {
  command -v redis-server >/dev/null || return 0
  nodes=''
  local i
  for i in 1 2 3 4 5; do
    start_server "$i"
    nodes+=${nodes:+,}127.0.0.1:$(port_of "$i")
  done
  export nodes
}

teardown_file() {
  local i
  for i in 1 2 3 4 5 6; do stop_server "$i"; done
}

setup() {
  command -v redis-server >/dev/null || skip "NOT TESTED: no redis-server"
  bare_surroundings
  store="local:$BATS_TEST_TMPDIR/store"
  local i
  for i in 1 2 3 4 5; do
    revive_server "$i"
    empty_server "$i"
  done
  at="redlock://$nodes?$patient"
  export HOLDFAST_STORE=$at
}

# Without a program: before each test, five times.
empty_server() {
  local said
  exec {to}<>"/dev/tcp/127.0.0.1/$(port_of "$1")"
  printf 'FLUSHALL\r\n' >&"$to"
  read -rt 10 said <&"$to"
  exec {to}>&-
  [[ $said == +OK* ]]
}

initialised() { holdfast redlock init "$@" >/dev/null; }
