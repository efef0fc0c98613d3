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

# zookeeper_client LINES...: what an operator types.
zookeeper_client() {
  printf '%s\n' "$@" | timeout 60 /usr/share/zookeeper/bin/zkCli.sh -server "$server"
}

@test "a store that was made without a user is told, until its nodes are the user's" {
  open="zookeeper://$server/given?node_timeout=2s"
  store="zookeeper://one:first@$server/given?node_timeout=2s"
  expect 0 holdfast run x --store "$open" -- true
  expect 0 holdfast doctor --store "$store"
  says warning 'made without a user'
  zookeeper_client 'addauth digest one:first' 'setAcl -R /given auth::cdrwa'
  expect 0 holdfast doctor --store "$store"
  [[ $output != *"without a user"* ]]
  expect 0 holdfast run x --store "$store" -- true
  expect 69 holdfast run x --store "$open" -- true
}

@test "a user's password is changed under a lock that is held" {
  echo first >password
  chmod 600 password
  store="zookeeper://one@$server/changed?password_file=$PWD/password&node_timeout=2s"
  in_background run x --ttl 12s --store "$store" -- sleep 60
  until_true eval "holdfast ls --store '$store' | grep -q exclusive"
  digest=$(printf one:second | openssl dgst -sha1 -binary | base64)
  echo second >password
  zookeeper_client 'addauth digest one:first' 'addauth digest one:second' \
    "setAcl -R /changed digest:one:$digest:cdrwa" "setAcl -R /changed digest:one:$digest:cdrwa"
  sleep 13
  expect 75 holdfast run x --no-wait --store "$store" -- true
  kill "$pid"
  wait "$pid" || [[ $? == 143 ]]
  echo first >password
  expect 69 holdfast run x --store "$store" -- true
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
  silence_is_waited_for zookeeper " does not answer: it hangs, or is no ZooKeeper"
}
