#!/usr/bin/env bats

# What an operator of a redlock:// store is told about its settings.

load setup
load servers
load redlock_servers

@test "a URL that does not fit the max_ttl of the nodes is refused, or told" {
  expect 64 holdfast redlock init --max-ttl 10s --store "$at&ttl=20s"
  says "the URL's ttl is 20s, above the max_ttl of 10s" '--max-ttl 20s or more'
  says 'nothing was written'
  expect 64 holdfast redlock init --store "$at&ttl=5m"
  says "the URL's ttl is 5m, above the max_ttl of 1m"
  expect 0 holdfast redlock init --max-ttl 10s --store "$at&max_ttl=30s&ttl=5s"
  says "the URL's max_ttl is 30s, that of the nodes' records 10s" 'Let both say the same'
  expect 0 holdfast redlock recover --yes --max-ttl 9s --store "$at&ttl=10s"
  says "the URL's ttl is 10s, above the max_ttl of 9s" 'no session can be opened with this URL'
  expect 0 holdfast redlock recover --yes --max-ttl 30s --store "$at&max_ttl=30s"
  [[ $output != *"the URL's"* ]]
}

@test "a store is not healthy for a URL whose ttl is above the max_ttl of the nodes" {
  initialised --max-ttl 10s
  high="$at&ttl=20s"
  expect 64 holdfast run x --store "$high" -- true
  raise="holdfast redlock recover --store '$high' --max-ttl 20s"
  expect 64 holdfast redlock status --store "$high"
  says 'the ttl is 20s' "store's nodes is 10s. Take a shorter ttl" "$raise"
  says '5 of 5 nodes vote' 'a majority votes, but no session can be opened with this URL'
  expect 64 holdfast redlock status --json --store "$high"
  json "assert (a['trouble'], a['votes']) == ('invalid_argument', 5), a"
  expect 64 holdfast doctor --store "$high"
  says fault 'no session is opened with' 'at most, its max_ttl' "$raise"
  printf 'store = "%s"\n' "$high" >c.toml
  unset HOLDFAST_STORE
  HOLDFAST_CONFIG=$PWD/c.toml expect 78 holdfast doctor
  expect 0 holdfast redlock recover --yes --store "$high"
  says 'nothing was written. But' "the URL's ttl is 20s, above the max_ttl of 10s"
  expect 0 holdfast redlock recover --yes --max-ttl 20s --store "$high"
  expect 0 holdfast redlock status --store "$high"
  expect 0 holdfast doctor --store "$high"
}

@test "recover without a terminal needs --yes only where it would write" {
  initialised
  expect 0 holdfast redlock recover </dev/null
  says '5 of 5 nodes vote' 'nothing to recover' 'nothing was written'
  expect 0 holdfast redlock recover --json --max-ttl 60s </dev/null
  json "assert (a['trouble'], a['votes']) == (None, 5) and 'nothing to recover' in a['advice'], a"
  expect 0 holdfast redlock recover --store "$at&ttl=5m" </dev/null
  says 'nothing was written. But' 'the ttl is 5m'
  expect 64 holdfast redlock recover --max-ttl 30s </dev/null
  says 'no terminal to ask on' 'add --yes'
  for i in 1 2 3; do cli "$i" FLUSHALL >/dev/null; done
  expect 64 holdfast redlock recover </dev/null
  says 'no terminal to ask on' 'add --yes'
  expect 0 holdfast redlock recover --yes </dev/null
  expect 0 holdfast redlock recover </dev/null
}

@test "a max_ttl is kept in whole milliseconds, and one with a fraction is asked for once" {
  initialised --max-ttl 250.5ms
  expect 0 holdfast redlock status --json
  json 'assert {n["record"]["max_ttl_s"] for n in a["nodes"]} == {0.251}, a'
  expect 0 holdfast redlock recover --max-ttl 250.5ms </dev/null
  says 'nothing to recover, and nothing was written'
  # On a terminal, which is asked only for what would be changed.
  ask='import os, pty, sys
pid, end = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
said = b""
while b"Type yes" not in said: said += os.read(end, 4096)
os.write(end, b"no\n")
print(said.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'
  expect 75 timeout 60 python3 -c "$ask" "$HOLDFAST" redlock recover --max-ttl 260.5ms
  says 'Give it a max_ttl of 261ms?'
  expect 64 holdfast redlock recover --yes --max-ttl 99.5ms
}

@test "doctor has the exit code of run where a session is refused, and a look is not" {
  initialised
  other="redlock://${nodes%,*}?$patient"
  expect 0 holdfast ls --store "$other"
  expect 64 holdfast run x --store "$other" -- true
  expect 64 holdfast doctor --store "$other"
  says fault 'another list of nodes'
}

@test "a node that missed a change of the list costs its own wait, and no recover" {
  initialised --max-ttl 2s
  pid=$(<"$BATS_FILE_TMPDIR/5/pid")
  kill -STOP "$pid"
  moved="redlock://localhost${nodes#127.0.0.1}?$patient&ttl=2s"
  expect 0 holdfast redlock recover --yes --other-list --store "$moved"
  kill -CONT "$pid"
  until_true eval "holdfast redlock status --store '$moved' >now 2>&1; grep -q 'another list' now"
  output=$(<now)
  says 'list of nodes, which says 127.0.0.1 where this one says localhost' '4 of 5 nodes vote' \
    'The nodes that vote have this one' 'DEL holdfast:node on it'
  [[ $output != *recover* ]]
  expect 64 holdfast redlock status
  says 'Use the same nodes' 'Only where no client is to use that list any more' '--other-list'
  cli 5 DEL holdfast:node
  until_true eval "holdfast redlock status --store '$moved' | grep -q '5 of 5 nodes vote'"
}

@test "a shorter max_ttl is refused while sessions with a longer ttl are there" {
  initialised
  hold_it --ttl 20s
  holdfast run y --ttl 15s -- "${until_go[@]}" &
  until_true eval "holdfast ls | grep -q '^y '"
  expect 75 holdfast redlock recover --yes --max-ttl 10s
  says '2 sessions have a ttl above 10s, up to 20s' 'Stop the holders first' 'Nothing was written'
  expect 75 holdfast redlock recover --yes --max-ttl 15s
  says '1 session has a ttl above 15s, up to 20s'
  release
  wait
  expect 0 holdfast redlock recover --yes --max-ttl 10s
  expect 0 holdfast run x -- true
}

@test "no verb takes for free what its user may not read" {
  initialised
  hold_it
  for i in 1 2 3 4 5; do cli "$i" ACL SETUSER default -strlen; done
  for words in ls 'show x' 'leader x' watch 'deny x'; do
    expect 64 holdfast $words
    says "NOPERM this user may not run 'strlen' on 'x' (allow +strlen: docs/redlock.md, \"Access\")"
  done
  for i in 1 2 3 4 5; do cli "$i" ACL SETUSER default +strlen resetkeys '~holdfast:*' '~y'; done
  for words in ls 'show x'; do
    expect 0 holdfast $words
    says 'locks may be held that are not shown' 'does not let this user read x'
  done
  expect 69 holdfast leader x
  says 'nobody is seen to lead "x"' 'not all locks are seen: ' 'does not let this user read x'
  expect 69 holdfast leader x --json
  [[ $output == *'"code":"unavailable"'* && $output != *'"leader":null'* ]]
  expect 64 holdfast deny x
  says 'nobody is seen to hold "x"' 'does not let this user read x'
  for i in 1 2 3 4 5; do cli "$i" ACL SETUSER default allkeys; done
  expect 0 holdfast deny x
  says 'is denied'
  code=0
  wait "$holder" || code=$?
  [[ $code == 76 ]]
}

@test "advice names the store where it was an option, so that it can be copied" {
  unset HOLDFAST_STORE
  url=$at
  for words in ls doctor 'redlock status' 'deny x' watch; do
    expect 78 holdfast $words --store "$url"
    says "Run: holdfast redlock init --store '$url'." "run: holdfast redlock recover --store '$url'"
  done
  expect 78 holdfast redlock status --json --store "$url"
  json "assert \"Run: holdfast redlock init --store '$url'.\" in a['advice'], a"
  expect 78 holdfast ls --store "$url"
  advice=$(sed -n "s/.*Run: \(holdfast redlock init --store '[^']*'\).*/\1/p" <<<"$output")
  expect 0 eval "$advice"
  expect 64 holdfast run x --ttl 5m --store "$url" -- true
  says "holdfast redlock recover --store '$url' --max-ttl"
  for i in 1 2 3; do cli "$i" FLUSHALL; done
  HOLDFAST_STORE=$url expect 69 holdfast run x -- true
  says 'holdfast redlock recover ['
}

@test "a holder that was stopped for longer than its ttl blames no node for it" {
  initialised
  in_background run x --ttl 3s -- sh -c ': >ready; exec sleep 60' 2>said
  until_true test -e ready
  kill -STOP $pid
  expect 0 holdfast run x --wait 50s -- true
  kill -CONT $pid
  code=0
  wait $pid || code=$?
  [[ $code == 76 ]]
  output=$(<said)
  says 'this process was ' 's late to act: it was stopped or suspended'
  [[ $output != *'[:0-9]* is silent'* ]]
}

@test "who watches is told when locks are hidden, and not that they were released" {
  export HOLDFAST_STORE="redlock://127.0.0.1:$(port_of 1)?$patient"
  initialised
  hold_it
  in_background watch >seen 2>said
  watcher=$pid
  in_background leader x --watch >leads 2>hidden
  leads=$pid
  in_background leader x --watch --json >objects 2>warned
  until_true grep -q ' held .*"x"' seen
  until_true grep -q ' leads' leads
  cli 1 ACL SETUSER default resetkeys '~holdfast:*' '~y'
  until_true grep -q 'does not let this user read x' said
  until_true grep -q 'does not let this user read x' hidden
  until_true grep -q ' nobody is seen to lead' leads
  until_true grep -q '"leader":null,"lacks":".*does not let this user read x' objects
  cli 1 ACL SETUSER default allkeys
  until_true eval "[[ \$(grep -c ' held .*\"x\"' seen) == 2 ]]"
  [[ $(<seen) != *released* ]]
  until_true eval '[[ $(grep -c " leads: " leads) == 2 ]]'
  [[ $(<leads) != *'nobody leads'* ]]
  until_true eval '[[ $(tail -n 1 objects) == *"\"lacks\":null}" ]]'
  kill "$watcher" $leads $pid "$holder"
}

@test "who watches sees what happens while a server hangs" {
  initialised
  in_background watch >seen
  until_true grep -q ' 0 locks' seen
  hang 2
  watcher=$pid
  # Until it was seen: how often the watcher looks is up to the nodes.
  in_background run y -- sh -c 'until grep -q " acquired .*\"y\"" seen; do sleep 0.1; done'
  until_true grep -q ' acquired .*"y"' seen
  wait "$pid"
  go_on 2
  until_true grep -q ' released .*"y"' seen
  kill "$watcher"
}

@test "who watches sees what comes after an outage, and is told of it" {
  initialised
  in_background watch >seen 2>said
  watcher=$pid
  in_background leader y --watch >leads 2>hidden
  until_true grep -q ' 0 locks' seen
  until_true grep -q 'nobody leads' leads
  for i in 1 2 3; do stop_server "$i"; done
  until_true grep -q 'looking again until it answers' said
  until_true grep -q 'looking again until it answers' hidden
  for i in 1 2 3; do revive_server "$i"; done
  holdfast redlock recover --yes >/dev/null
  until_true grep -q 'answers again' said
  until_true grep -q 'answers again' hidden
  expect 0 holdfast run y --wait 30s -- sleep 3
  # Where a majority votes only since then, in a picture of all that is held.
  until_true grep -qE ' (acquired|held) .*"y"' seen
  kill "$watcher" $pid
}

@test "doctor --json has the numbers of its texts" {
  initialised --max-ttl 20s
  expect 0 holdfast doctor --json
  json 'of = lambda s: {k: v for f in a["findings"] if f["subject"] == s
    for k, v in f["numbers"].items()}
assert of("majority") == {"votes": 5, "nodes": 5, "needed": 3}, a
node = of("127.0.0.1:'"$(port_of 1)"'")
assert node["max_ttl_s"] == 20 and 0 < node["floor"] <= node["epoch"], a
assert abs(node["clock_offset_s"]) <= node["clock_offset_bound_s"] + 0.001, a
ttl = of("ttl")
assert 0 < ttl["beat_s"] <= ttl["slowest_beat_s"] < ttl["smallest_ttl_s"], a
assert ttl["ttl_s"] == ttl["max_ttl_s"] == 20 < ttl["free_within_s"], a
assert of("clock") == {}, a'
}

@test "every verb refuses one server under two names where no node was set up" {
  export HOLDFAST_STORE="redlock://127.0.0.1:$(port_of 1),localhost:$(port_of 1),\
127.0.0.1:$(port_of 2)?$patient"
  for words in ls 'ls --json' 'ls --names' 'show x' 'leader x' 'deny x' watch doctor \
    'redlock status' 'redlock init' 'run x -- true'; do
    expect 64 timeout 60 "$HOLDFAST" $words
    says 'is the same server as'
  done
}

@test "a store that was never set up is not waited for" {
  expect 78 timeout 50 "$HOLDFAST" run x --wait 1h -- true
  says 'Run: holdfast redlock init'
}

@test "what is wrong with all nodes alike is said once" {
  expect 69 holdfast run x --store 'redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3' -- true
  says 'redis nodes 127.0.0.1:1, 127.0.0.1:2 and 127.0.0.1:3 each: cannot connect'
  [[ $(grep -o 'Connection refused' <<<"$output" | wc -l) == 1 ]]
}

@test "a session whose record is gone has a ttl that nobody knows" {
  initialised
  hold_it --ttl 60s
  id=$(holdfast ls --sessions | awk 'NR > 2 { print $1 }')
  # It would find out, and stop.
  kill -STOP "$holder"
  for i in 1 2 3 4 5; do
    cli "$i" DEL "$(cli "$i" --scan --pattern "holdfast:session:*$id*")" >/dev/null
  done
  expect 0 holdfast show --session "$id"
  [[ $output =~ ttl\ +\? ]]
  expect 0 holdfast show --session "$id" --json
  json 'assert a["ttl_s"] is None, a'
  : >go
  kill -CONT "$holder"
  wait "$holder" || [[ $? == 76 ]]
}

@test "a session that nobody has is not denied, and nothing is written" {
  initialised
  none=0123456789abcdef0123456789abcdef
  expect 64 holdfast deny --session $none
  says "no session $none"
  for i in 1 2 3 4 5; do cli "$i" SET x ${none}00112233 PX 60000 >/dev/null; done
  expect 69 holdfast deny --session $none
  says 'keeps no session' 'nothing was changed' 'tokens=off'
  expect 69 holdfast break --session $none
  for i in 1 2 3 4 5; do [[ -z $(cli "$i" --scan --pattern 'holdfast:session:*') ]]; done
}

@test "who waits and is denied is told by whom and why" {
  initialised
  hold_it
  in_background run x --wait 60s -- true 2>said
  waiter=$pid
  until_true eval '"$HOLDFAST" ls --sessions | grep -q ":$waiter "'
  id=$("$HOLDFAST" ls --sessions | sed -n "s/^\([0-9a-f]*\) .*:$waiter .*/\1/p")
  expect 0 holdfast deny --session "$id" --why 'not you'
  code=0
  wait "$waiter" || code=$?
  [[ $code == 76 ]]
  output=$(<said)
  says denied 'not you' 'an operator ('
  release
}

@test "init and recover whose report cannot be written say what they did" {
  expect 69 unwritten full redlock init
  says 'redlock init: 5 of 5 nodes vote; only this report of it cannot be written'
  expect 69 unwritten closed redlock recover --yes --json --max-ttl 20s
  json 'assert {n["record"]["max_ttl_s"] for n in a["done"]} == {20}, a'
  expect 69 unwritten full redlock recover
  says 'standard output cannot be written'
  [[ $output != *'only this report'* ]]
}
