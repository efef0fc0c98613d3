#!/usr/bin/env bats

load setup

@test "--no-wait on a held lock is 75, or what -E says, and names store and lock" {
  hold_it
  expect 75 holdfast run x --no-wait -- true
  [[ $output == *'acquire x in '"$store"* ]]
  expect 0 holdfast run x --no-wait -E 0 -- false
  expect 9 holdfast run x -n -E9 -- true
  release
}

@test "--wait that runs out is 75" {
  hold_it
  expect 75 holdfast run x --wait 200ms -- true
  release
}

@test "a waiter gets the lock when it is given back, with a larger token" {
  hold_it
  in_background run x -- sh -c 'echo $HOLDFAST_TOKEN >second'
  waiter=$pid
  until_true sh -c "'$HOLDFAST' ls --json | grep -q waiting"
  release
  wait $waiter
  [[ -s second ]]
}

@test "shared holders go together, an exclusive one waits" {
  hold_it --shared
  expect 0 holdfast run x --shared --no-wait -- true
  expect 75 holdfast run x --no-wait -- true
  release
}

@test "permits let n in, and must agree" {
  hold_it --permits 2
  expect 0 holdfast run x --permits 2 --no-wait -- true
  expect 75 holdfast run x --permits 2 --no-wait -- "$HOLDFAST" run x --permits 2 --no-wait -- true
  expect 64 holdfast run x --permits 3 --no-wait -- true
  says 'if its holders send no heartbeat any more, a try in '
  says 'used as permits(2), not permits(3)'
  expect 64 holdfast run x --permits 3 --no-wait --json -- true
  says '"mode_conflict"'
  release
}

@test "a signal while waiting is 128+n and leaves nothing behind" {
  hold_it
  for signal in TERM HUP USR1; do
    in_background run x -- true
    until_true sh -c "'$HOLDFAST' ls --json | grep -q waiting"
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    [[ $code == $((128 + $(kill -l $signal))) ]]
    run holdfast ls --json
    [[ $output != *waiting* ]]
  done
  release
}

@test "kill -9 of a wrapper passes the lock on at once" {
  in_background run x --ttl 1h -- sh -c ': >held; sleep 60'
  until_true test -e held
  kill -KILL $pid
  wait $pid || true
  expect 0 holdfast run x --wait 30s -- true
}

@test "ls, show and watch tell who holds and who waits" {
  hold_it --label 'the label' --instance one
  in_background run x -- sleep 0.5
  until_true sh -c "'$HOLDFAST' ls --json | grep -q waiting"
  expect 0 holdfast ls
  [[ $output == *"store $store"* && $output == *'the label'* && $output == *exclusive* ]]
  expect 0 holdfast ls --names
  [[ $output == x ]]
  expect 0 holdfast ls --sessions
  [[ $output == *alive* ]]
  expect 0 holdfast show x --json
  python3 -c 'import json,sys
l=json.loads(sys.argv[1])
assert l["version"]==1 and l["name"]=="x" and l["name_hex"]=="78", l
a,b=l["entries"]
assert a["state"]=="held" and a["token"]>0 and a["owner"]["label"]=="the label", a
assert b["state"]=="waiting" and b["token"] is None, b
print(a["session"])' "$output" >id
  expect 0 holdfast show --session "$(cat id)"
  [[ $output == *"the label"* ]]
  timeout 60 "$HOLDFAST" watch --json >events 3>&- &
  watcher=$!
  until_true grep -q snapshot events
  release
  until_true grep -q '"acquired"' events
  until_true grep -q '"released"' events
  kill $watcher
  wait $pid
  python3 -c 'import json
for l in map(json.loads, open("events")):
  assert l["event"] == "snapshot" or (l["name"], l["name_hex"]) == ("x", "78"), l'
}

@test "who watches finds the store that was made in place of a removed one" {
  in_background watch >seen 2>said
  watcher=$pid
  in_background leader y --watch >leads 2>hidden
  looker=$pid
  until_true grep -q ' 0 locks' seen
  until_true grep -q 'nobody leads' leads
  rm -r store
  until_true grep -q 'removed or replaced.*looking again until it answers' said
  until_true grep -q 'removed or replaced.*looking again until it answers' hidden
  hold_it
  until_true grep -q 'answers again' said
  until_true grep -q 'answers again' hidden
  until_true grep -q ' held .*"x"' seen
  release
  until_true grep -q ' released .*"x"' seen
  kill "$watcher" "$looker"
}

@test "deny says when it is free, and the command is stopped with 76" {
  in_background run x --ttl 3s -- sh -c ': >held; sleep 60'
  until_true test -e held
  timeout 60 "$HOLDFAST" watch >seen 3>&- &
  watcher=$!
  until_true grep -q held seen
  expect 0 holdfast deny x --why 'a test'
  [[ $output == *"free within"* ]]
  until_true grep -q 'denied .*"x".* by .*: a test$' seen
  kill $watcher
  code=0
  wait $pid || code=$?
  [[ $code == 76 ]]
  is_gone
  expect 0 holdfast run x --wait 30s -- true
}

@test "break refuses a live session with 75 and says why" {
  hold_it
  expect 75 holdfast break x
  says 'not broken' 'is alive' '; deny it instead; its locks fall within'
  release
}

@test "break of a session that is denied already does not advise to deny it" {
  hold_it --ttl 1h
  expect 0 holdfast deny x --why test
  expect 75 holdfast break x
  says 'is alive' ') denied it: test; its locks fall within' ' of that ['
  [[ $output != *instead* ]]
  : >go
  wait "$holder" || true
}

@test "a failure is named in words for people, and as the library does for programs" {
  hold_it
  for words in 'break x' 'run x --no-wait -- true'; do
    expect 75 holdfast $words
    [[ $output == *' [refused]' ]]
    expect 75 holdfast ${words/x/x --json}
    json 'assert a["error"]["code"] == "busy", a'
  done
  expect 75 holdfast run x --wait 100ms -- true
  [[ $output == *' [timed out]' ]]
  release
}

@test "who is denied while it waits gets 76 at once, runs nothing and leaves no entry" {
  hold_it
  in_background run x --ttl 1h -- sh -c ': >ran' 2>said
  waiter=$pid
  until_true sh -c "'$HOLDFAST' ls --json | grep -q waiting"
  expect 0 holdfast show x --json
  id=$(python3 -c 'import json, sys
print(json.loads(sys.argv[1])["entries"][1]["session"])' "$output")
  expect 0 holdfast deny --session "$id" --why 'not today'
  SECONDS=0 code=0
  wait $waiter || code=$?
  [[ $code == 76 && ! -e ran ]]
  # Its next heartbeat is not due for a third of an hour.
  ((SECONDS < 60))
  grep 'x.*not today.*\[denied\]' said
  run holdfast ls --json
  [[ $output != *waiting* ]]
  release
}

@test "who is stopped past its ttl while it waits gets 69 and never the lock" {
  hold_it
  in_background run x --ttl 4s -- sh -c ': >ran' 2>said
  waiter=$pid
  until_true sh -c "'$HOLDFAST' ls --json | grep -q waiting"
  kill -STOP $waiter
  sleep 4.5
  kill -CONT $waiter
  release
  code=0
  wait $waiter || code=$?
  [[ $code == 69 && ! -e ran ]]
  grep 'nothing was run.*no heartbeat.*\[unavailable\]' said
  run holdfast ls --json
  [[ $output != *waiting* ]]
}
