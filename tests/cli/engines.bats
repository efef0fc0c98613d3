#!/usr/bin/env bats

# The same command lines on every engine: only HOLDFAST_STORE differs, and what they say and how
# they end does not.

load setup
load servers
load engine_servers

setup_file() {
  if command -v redis-server >/dev/null; then
    local i
    for i in 1 2 3 4; do start_server "$i"; done
  fi
  ! command -v etcd >/dev/null || start_etcd "$BATS_FILE_TMPDIR/etcd"
  ! has_zookeeper || start_zookeeper "$BATS_FILE_TMPDIR/zookeeper"
}

teardown_file() {
  local i
  for i in 1 2 3 4; do stop_server "$i"; done
  stop_in "$BATS_FILE_TMPDIR/etcd"
  stop_in "$BATS_FILE_TMPDIR/zookeeper"
}

setup() {
  bare_surroundings
}

# A server that the machine leaves alone for a while is not what this is about. Half of the shortest
# ttl here is the most that may be said.
patient=node_timeout=2s

# on URL: what follows is about this store.
on() {
  export HOLDFAST_STORE=$1
  run "$HOLDFAST" ls
  [[ $output != *"not part of this build"* ]] || skip "NOT TESTED: ${1%%:*} is not in this build"
}

holds() { [[ $(holdfast leader head) == "$1" ]]; }

# Not one word of these lines knows the engine.
the_same_lines() {
  expect 7 holdfast run x --ttl 10s -- sh -c 'exit 7'
  first=$(holdfast run x --ttl 10s -- sh -c 'echo $HOLDFAST_TOKEN')
  second=$(holdfast run x --ttl 10s -- sh -c 'echo $HOLDFAST_TOKEN')
  ((first > 0 && second > first))

  hold_it --ttl 10s --label job
  expect 75 holdfast run x --ttl 10s --no-wait -- true
  expect 75 holdfast run x --ttl 10s --wait 100ms -- true
  expect 0 holdfast run y --ttl 10s --no-wait -- true
  expect 0 holdfast ls --json
  json 'e = [l for l in a["locks"] if l["name"] == "x"][0]["entries"]
assert e[0]["state"] == "held" and e[0]["owner"]["label"] == "job", a'
  expect 0 holdfast show x
  says job
  in_background run x --ttl 10s -- touch mine
  waiter=$pid
  release
  wait "$waiter"
  [[ -e mine ]]

  rm -f held go
  in_background elect head --ttl 10s --value host-a:80 -- "${until_go[@]}"
  leader=$pid
  until_true holds host-a:80
  : >go
  wait "$leader"
  expect 75 holdfast leader head

  deny_stops_the_holder 4s
  expect 0 holdfast run x --ttl 10s -- true

  expect 0 holdfast doctor
  says 'what holds' 'the smallest safe ttl'
  expect 64 holdfast run x --ttl never -- true
}

@test "local" {
  on "local:$BATS_TEST_TMPDIR/store"
  the_same_lines
}

@test "redis" {
  command -v redis-server >/dev/null || skip "NOT TESTED: no redis-server"
  on "redis://127.0.0.1:$(port_of 4)?assume_fresh=yes&node_timeout=5s"
  the_same_lines
}

@test "redlock" {
  command -v redis-server >/dev/null || skip "NOT TESTED: no redis-server"
  local nodes
  nodes=127.0.0.1:$(port_of 1),127.0.0.1:$(port_of 2),127.0.0.1:$(port_of 3)
  on "redlock://$nodes?$patient"
  expect 0 holdfast redlock init
  the_same_lines
}

@test "etcd" {
  command -v etcd >/dev/null || skip "NOT TESTED: no etcd"
  on "etcd://127.0.0.1:$(<"$BATS_FILE_TMPDIR/etcd/port")/the-same?$patient"
  the_same_lines
}

@test "zookeeper" {
  has_zookeeper || skip "NOT TESTED: no ZooKeeper"
  on "zookeeper://127.0.0.1:$(<"$BATS_FILE_TMPDIR/zookeeper/port")/the-same?$patient"
  the_same_lines
}

# names LINE...: of the hosts file that holdfast has.
names() {
  bwrap --dev-bind / / true || skip "NOT TESTED: bwrap does not work here"
  printf '%s\n' "$@" >hosts
  holdfast() {
    RUNMARK=$MARK timeout 120 bwrap --die-with-parent --dev-bind / / \
      --ro-bind "$BATS_TEST_TMPDIR/hosts" /etc/hosts "$HOLDFAST" "$@"
  }
}

# A fresh Debian's hosts file: the first address of localhost is one that no server here has.
two_addresses() {
  names '127.0.0.1 localhost' '::1 localhost ip6-localhost ip6-loopback'
  [[ $(bwrap --dev-bind / / --ro-bind hosts /etc/hosts getent ahosts localhost) == ::1* ]]
}

@test "redlock: a name is all its addresses, of which one suffices" {
  command -v redis-server >/dev/null || skip "NOT TESTED: no redis-server"
  two_addresses
  on "redlock://localhost:$(port_of 1),localhost:$(port_of 2),localhost:$(port_of 3)?$patient"
  for i in 1 2 3; do cli "$i" FLUSHALL >/dev/null; done
  expect 0 holdfast redlock init
  expect 0 holdfast redlock status
  says '3 of 3 nodes vote'
  expect 3 holdfast run x -- sh -c 'exit 3'
  expect 0 holdfast doctor
  says '3 of 3 nodes vote'
}

@test "redis: a name is all its addresses, of which one suffices" {
  command -v redis-server >/dev/null || skip "NOT TESTED: no redis-server"
  two_addresses
  on "redis://localhost:$(port_of 4)?assume_fresh=yes"
  expect 3 holdfast run x -- sh -c 'exit 3'
  expect 0 holdfast doctor
  expect 69 holdfast run x --store "redis://localhost:1?assume_fresh=yes" -- true
  says 'redis node localhost:1: cannot connect to 127.0.0.1 and ::1: Connection refused'
}

@test "etcd: a name is all its addresses, of which one suffices" {
  command -v etcd >/dev/null || skip "NOT TESTED: no etcd"
  two_addresses
  on "etcd://localhost:$(<"$BATS_FILE_TMPDIR/etcd/port")/names"
  expect 3 holdfast run x --ttl 10s -- sh -c 'exit 3'
  expect 0 holdfast doctor
}

@test "zookeeper: a name is all its addresses, of which one suffices" {
  has_zookeeper || skip "NOT TESTED: no ZooKeeper"
  two_addresses
  on "zookeeper://localhost:$(<"$BATS_FILE_TMPDIR/zookeeper/port")/names"
  expect 3 holdfast run x --ttl 10s -- sh -c 'exit 3'
  expect 0 holdfast doctor
}

# clients I HOST: how many connections of holdfast the server has.
clients() { redis-cli -h "$2" -p "$(port_of "$1")" CLIENT LIST | grep -vc 'cmd=client|list'; }

@test "redlock: a name that leads elsewhere is followed, though the old server answers" {
  command -v redis-server >/dev/null || skip "NOT TESTED: no redis-server"
  names '127.0.0.1 node'
  start_server 5 "$(port_of 4)" --bind 127.0.0.2
  on "redlock://node:$(port_of 4),127.0.0.1:$(port_of 1),127.0.0.1:$(port_of 2)?$patient"
  for i in 1 2 4; do cli "$i" FLUSHALL >/dev/null; done
  expect 0 holdfast redlock init
  holdfast run x -- sh -c 'until [ -e enough ]; do sleep 0.1; done' 3>&- &
  pid=$!
  until_true eval '(($(clients 4 127.0.0.1) == 1))'
  echo '127.0.0.2 node' >hosts
  for ((tries = 0; tries < 60 && $(clients 5 127.0.0.2) == 0; tries++)); do sleep 1; done
  (($(clients 5 127.0.0.2) == 1))
  until_true eval '(($(clients 4 127.0.0.1) == 0))'
  expect 75 holdfast run x --no-wait -- true
  expect 0 holdfast redlock status
  says '2 of 3 nodes vote'
  : >enough
  wait "$pid"
  stop_server 5
}
