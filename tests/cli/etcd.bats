#!/usr/bin/env bats

# An etcd:// store on a server of the suite's own: the command lines are those of any other store.

load setup
load engine_servers

setup_file() {
  command -v etcd >/dev/null || return 0
  start_etcd "$BATS_FILE_TMPDIR/etcd"
  export server=127.0.0.1:$(<"$BATS_FILE_TMPDIR/etcd/port")
}

teardown_file() { stop_in "$BATS_FILE_TMPDIR/etcd"; }

setup() {
  command -v etcd >/dev/null || skip "NOT TESTED: no etcd"
  bare_surroundings
  # A store of each test's own.
  export HOLDFAST_STORE="etcd://$server/test-$BATS_TEST_NUMBER?node_timeout=2s"
  run "$HOLDFAST" ls
  [[ $output != *"not part of this build"* ]] || skip "NOT TESTED: no etcd engine in this build"
}

@test "run: exit codes, tokens that grow, busy and waiting" {
  expect 7 holdfast run x -- sh -c 'exit 7'
  first=$(holdfast run x -- sh -c 'echo $HOLDFAST_TOKEN')
  second=$(holdfast run x -- sh -c 'echo $HOLDFAST_TOKEN')
  ((first > 0 && second > first))
  hold_it
  expect 75 holdfast run x --no-wait -- true
  expect 75 holdfast run x --wait 1s -- true
  says 'held by sh'
  expect 0 holdfast run y -- true
  holdfast run x -- echo mine >mine &
  waiter=$!
  release
  wait "$waiter"
  [[ $(<mine) == mine ]]
}

@test "shared locks, permits and both of them at once" {
  shared_and_permits
}

@test "ls and show tell holders and waiters" {
  expect 0 holdfast ls --json
  json 'assert a["locks"] == [], a'
  hold_it
  in_background run x -- true
  waiter=$pid
  until_true eval 'holdfast show x | grep -q waiting'
  expect 0 holdfast show x --json
  json 'assert a["store"].startswith("etcd://") and "test-" in a["store"], a'
  expect 0 holdfast ls --json
  json 'e = a["locks"][0]["entries"]; assert [x["state"] for x in e] == ["held", "waiting"], a
assert e[0]["token"] > 0 and e[0]["owner"]["program"] == "sh", a'
  release
  wait "$waiter"
}

@test "a denied holder is stopped, and its lock is free after that" {
  deny_stops_the_holder 4s
  expect 0 holdfast run x -- true
}

@test "break refuses who lives; who was killed on this host is followed at once" {
  break_takes_the_dead_alone
}

@test "a copy of a living holder's life lock proves nothing" {
  a_copy_of_a_life_lock_is_no_proof
}

@test "doctor tells servers, election and history" {
  expect 0 holdfast doctor
  says "$server answers, version 3." 'election timeout' 'compaction'
  # Bounds, which are told as they are or as more: two thirds of 2 s, and twice that and 2 s.
  says 'at most 1.334s' 'a failover may take 4.668s'
  expect 0 holdfast doctor --json
  json 'assert any(f["subject"] == "clocks" for f in a["findings"]), a'
}

@test "a command whose store was deleted meanwhile is told that its record is gone" {
  expect 76 holdfast run x -- env ETCDCTL_API=3 etcdctl --endpoints="$server" \
    del "test-$BATS_TEST_NUMBER/" --prefix
  says 'its record is gone'
}

@test "what is wrong with the URL or the server is told by its code" {
  expect 64 holdfast run x --store etcd:// -- true
  expect 64 holdfast run x --store "etcd://$server?colour=red" -- true
  expect 64 holdfast run x --ttl 1s --store "etcd://$server" -- true
  says 'node_timeout'
  expect 69 holdfast run x --store "etcd://127.0.0.1:1/t?node_timeout=300ms" -- true
  says '127.0.0.1:1'
  expect 69 holdfast run x --store "etcd+tls://$server/t?node_timeout=3s" -- true
  # Whether the server's reset or the failed handshake is seen first is chance.
  says "$server" 'TLS'
  expect 69 holdfast doctor --store "etcd://127.0.0.1:1/t?node_timeout=300ms"
}

@test "what only a person can set right is told at once, and not to be waited for" {
  took expect 69 holdfast run x --store "etcd://me:word@$server/t?node_timeout=30s" -- true
  says 'authentication is not enabled'
  [[ $output != *DURATION* ]]
  ((took < 15000)) || { echo "$took ms"; return 1; }
}

@test "servers that are all not there are told at once, and one that is up is found" {
  absent_servers_are_told_at_once etcd "$server"
}

@test "a server that is silent is waited for" {
  silence_is_waited_for etcd
}
