#!/usr/bin/env bats

# What a history shows, judged by the program.

bats_require_minimum_version 1.5.0
load setup

# history LINES: a file of them, behind the header.
history() { printf 'holdfast-history 1\n%s' "$1" >history; }

good=$'acquire a x 1 10 20 ok\ncheck a x 1 25 26 ok\nacquire b x 2 15 30 ok\n'
late=$'check a x 1 1000000040 1000000050 ok\n'

@test "a history that can have happened is 0, and so is one without operations" {
  history "$good"
  expect 0 holdfast verify history
  [[ $output == '1 of 1 object linearizable, 3 operations in 3 lines' ]]
  history ''
  expect 0 holdfast verify history
  [[ $output == '0 of 0 objects linearizable, 0 operations in 0 lines' ]]
}

@test "one that cannot is 1, and the lines that cannot be ordered are shown with their times" {
  history "$good$late"$'acquire c y 1 10 20 ok\nacquire c x 3 1000000060 1000000070 ok\n'
  expect 1 holdfast verify history
  says 'lock "x" (fenced mutex): not linearizable: 2 operations have no order in which' \
    '1 of 2 objects linearizable'
  [[ ${lines[1]} =~ ^line\ +caller\ +operation\ +token\ +outcome ]]
  [[ ${lines[2]} =~ ^4\ +b\ +acquire\ +2\ +ok\ +0\.000000000\ +0\.000000015 ]]
  [[ ${lines[3]} =~ ^5\ +a\ +check\ +1\ +ok\ +1\.000000025\ +1\.000000035 ]]
  [[ ${#lines[@]} == 5 ]]
}

@test "standard input is a history too, and JSON says all of it" {
  history "$good$late"
  run --separate-stderr bash -c '"$HOLDFAST" verify - --json <history'
  [[ $status == 1 ]]
  json 'assert a["version"] == 1 and a["verdict"] == "violation" and a["operations"] == 4
n, = a["names"]
assert n["name"] == "x" and n["name_hex"] == "78" and n["model"] == "fenced mutex", n
assert [c["line"] for c in n["conflict"]] == [4, 5]
assert n["conflict"][1] == {"line": 5, "operation": "check", "mode": None, "caller": "a",
  "token": 1, "outcome": "ok", "invoked_ns": 1000000040, "returned_ns": 1000000050, "value": None}'
}

@test "JSON says in which mode a lock was asked for" {
  modes() { holdfast verify history --json | python3 -c 'import json, sys
print([[c["mode"], c.get("permits")] for c in json.load(sys.stdin)["names"][0]["conflict"]])'; }
  history $'read b x 3 10 20 ok mode=shared\nread a x 2 30 40 ok\n'
  [[ $(modes) == "[['shared', None], ['exclusive', None]]" ]]
  history $'acquire a x 1 10 20 ok mode=permits:2\nacquire b x 1 30 40 ok mode=permits:2\n'
  [[ $(modes) == "[['permits', 2], ['permits', 2]]" ]]
}

@test "undecided is 2 and said plainly" {
  local lines='' i
  for i in {1..18}; do lines+="write w$i x 1 1 100 ok value=$i"$'\n'; done
  history "$lines"$'read r x - 101 102 ok value=nobody\n'
  expect 2 holdfast verify history --memory 1
  says 'storage behind "x" (fenced register): undecided: 1 MiB of states were not enough' \
    'nothing is known about this name'
}

@test "--model judges by that one only" {
  history $'acquire a x 2 10 20 ok\nacquire b x 1 40 50 ok\n'
  expect 1 holdfast verify history
  expect 0 holdfast verify history --model mutex
  expect 64 holdfast verify history --model lock
  says '--model lock is not mutex, fenced-mutex, semaphore or fenced-register'
}

@test "grants without tokens are no fenced mutex, and that is said" {
  history $'acquire a x - 10 20 ok\nrelease a x - 30 40 ok\nacquire b y 1 10 20 ok\n'
  expect 2 holdfast verify history --model fenced-mutex
  says 'lock "x" (fenced mutex): undecided: 1 grant has no token, as in a store with tokens=off' \
    'judge this name by the model mutex' '1 of 2 objects linearizable'
  expect 0 holdfast verify history --model mutex
  expect 0 holdfast verify history
}

@test "a holder that was killed before its write, and one that gave up, explain a refusal" {
  local late=$'write a x 1 50 60 stale_token value=late\nread r x - 70 80 ok\n'
  history $'write b x 2 10 - pending value=new\n'"$late"
  expect 0 holdfast verify history
  history $'read b x 2 10 20 timed_out\n'"$late"
  expect 0 holdfast verify history
  history $'read b x 2 10 20 denied\n'"$late"
  expect 1 holdfast verify history
  says 'storage behind "x"' '1 operation has no order in which a token is refused only below'
}

@test "readers with shared tokens do not refuse each other" {
  local reads=$'read b x 3 10 20 ok mode=shared\nread a x 2 30 40 ok'
  history "$reads"$' mode=shared\n'
  expect 0 holdfast verify history
  history "$reads"$'\n'
  expect 1 holdfast verify history
  [[ ${lines[2]} =~ ^2\ +b\ +read\ shared\ +3\ +ok ]]
}

@test "a damaged history is 65 and its line is named; one that is not there is 64" {
  history "$good"$'check a x 0 25 26 ok\n'
  expect 65 holdfast verify history
  says 'history: line 5: the token "0"'
  printf 'no history' >history
  expect 65 holdfast verify history
  says 'history: line 1: a history begins with'
  expect 64 holdfast verify absent
  says 'cannot read the history absent: No such file or directory'
  expect 64 holdfast verify .
  says 'cannot read the history .: Is a directory'
  expect 64 holdfast verify - <.
  says 'cannot read the history from standard input: Is a directory'
  history "$good"
  expect 64 holdfast verify history --memory 0
  says '--memory 0 is no number of MiB'
  expect 64 holdfast verify
}

@test "the documentation's example is linearizable, and not when a read saw the late write" {
  sed -n '/^    holdfast-history 1$/,/^$/p' "$BATS_TEST_DIRNAME/../../docs/history-format.md" |
    sed 's/^    //' >history
  expect 0 holdfast verify history
  [[ $output == '2 of 2 objects linearizable, 9 operations in 10 lines' ]]
  sed -i '/^read/s/second/late/' history
  expect 1 holdfast verify history
  says 'storage behind "nightly"' '1 operation has no order' '1 of 2 objects linearizable'
}
