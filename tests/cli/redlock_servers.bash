# Five servers of the suite, and the redlock:// store on them that HOLDFAST_STORE names. Wants
# setup.bash and servers.bash.

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
    cli "$i" FLUSHALL >/dev/null
  done
  export HOLDFAST_STORE=redlock://$nodes
}

initialised() { holdfast redlock init "$@" >/dev/null; }
