#!/usr/bin/env bats

# A zookeeper:// store on a server of the suite's own; what is the same everywhere is in
# engines.bats.

load setup
load engine_servers

setup_file() {
  has_zookeeper || return 0
  start_zookeeper "$BATS_FILE_TMPDIR/zookeeper"
  export server=127.0.0.1:$(<"$BATS_FILE_TMPDIR/zookeeper/port")
}

teardown_file() { stop_in "$BATS_FILE_TMPDIR/zookeeper"; }

setup() {
  has_zookeeper || skip "NOT TESTED: no ZooKeeper"
  bare_surroundings
  # A store of each test's own.
  export HOLDFAST_STORE="zookeeper://$server/test-$BATS_TEST_NUMBER?node_timeout=2s"
  run "$HOLDFAST" ls
  [[ $output != *"not part of this build"* ]] || skip "NOT TESTED: no such engine in this build"
}

@test "shared locks, permits and both of them at once" {
  shared_and_permits
}

@test "break refuses who lives; who was killed on this host is followed at once" {
  break_takes_the_dead_alone
}

@test "a copy of a living holder's life lock proves nothing" {
  a_copy_of_a_life_lock_is_no_proof
}

@test "doctor tells the server, and that anybody who reaches it can end sessions" {
  expect 0 holdfast doctor
  says "$server serves, version 3." 'the URL names no user'
  expect 0 holdfast doctor --json
  json 'assert any(f["subject"] == "clocks" for f in a["findings"]), a'
}

@test "a user's nodes are that user's alone" {
  store="zookeeper://one:first@$server/of-one?node_timeout=2s"
  expect 0 env HOLDFAST_STORE="$store" "$HOLDFAST" run x -- true
  [[ $(HOLDFAST_STORE=$store "$HOLDFAST" doctor) != *"names no user"* ]]
  expect 69 env HOLDFAST_STORE="${store/first/second}" "$HOLDFAST" run x -- true
  says one
  [[ $output != *second* && $output != *DURATION* ]]
  expect 69 env HOLDFAST_STORE="zookeeper://$server/of-one?node_timeout=2s" \
    "$HOLDFAST" run x -- true
  says 'belong to a user'
  [[ $output != *DURATION* ]]
}

@test "what is wrong with the URL or the server is told by its code" {
  expect 64 holdfast run x --store zookeeper:// -- true
  expect 64 holdfast run x --store "zookeeper://$server?colour=red" -- true
  expect 69 holdfast run x --store "zookeeper+tls://$server" -- true
  says TLS
  expect 64 holdfast run x --ttl 1s --store "zookeeper://$server" -- true
  says node_timeout
  expect 69 holdfast run x --store "zookeeper://127.0.0.1:1/t?node_timeout=300ms" -- true
  says 127.0.0.1:1
  expect 69 holdfast doctor --store "zookeeper://127.0.0.1:1/t?node_timeout=300ms"
}

@test "servers that are all not there are told at once, and one that is up is found" {
  absent_servers_are_told_at_once zookeeper "$server"
}

@test "a server that is silent is waited for" {
  silence_is_waited_for zookeeper " does not answer like ZooKeeper; is this its port?"
}
