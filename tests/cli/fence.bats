#!/usr/bin/env bats

load setup

setup_fence() { at="file:$BATS_TEST_TMPDIR/floors"; }

@test "check admits equal and newer tokens and refuses stale ones with 77" {
  setup_fence
  expect 0 holdfast fence check "$at" data 7:nightly:local/1
  expect 0 holdfast fence check "$at" data 7:nightly:local/1
  expect 0 holdfast fence check "$at" data 9:nightly:local/1
  expect 77 holdfast fence check "$at" data 8:nightly:local/1
  says 'token 8' 'admitted 9'
  expect 77 holdfast fence check "$at" data 8
  expect 0 holdfast fence check "$at" data 9
}

@test "check without a URL says what is missing" {
  expect 64 holdfast fence check data 7:nightly:local/1
  says '"data" is no URL of a fence' 'file:/PATH'
  setup_fence
  expect 64 holdfast fence check "$at" data
  says 'HOLDFAST_FENCING_TOKEN' 'where run warns of it'
}

@test "the token of a run is admitted until a later run has come" {
  setup_fence
  expect 0 holdfast run x -- sh -c 'echo "$HOLDFAST_FENCING_TOKEN"'
  first=$output
  [[ $first == *:x:local/* ]]
  check='"$0" fence check "$1" data "$HOLDFAST_FENCING_TOKEN"'
  expect 0 holdfast run x -- sh -c "$check" "$HOLDFAST" "$at"
  expect 77 holdfast fence check "$at" data "$first"
  expect 0 holdfast run y -- sh -c 'echo "$HOLDFAST_FENCING_TOKEN"'
  expect 64 holdfast fence check "$at" data "$output"
  says 'lock y' 'lock x'
}

@test "raise refuses what is below and never lowers" {
  setup_fence
  expect 0 holdfast fence raise "$at" data 5
  expect 77 holdfast fence check "$at" data 4:nightly:local/1
  expect 0 holdfast fence raise "$at" data 3
  expect 0 holdfast fence show "$at" data --json
  json 'assert a["floor"] == 5 and a["newest"] == 5 and a["lock"] is None and a["version"] == 1'
  expect 0 holdfast fence check "$at" data 5:nightly:local/1
  expect 64 holdfast fence raise "$at" data 9:weekly:local/1
  expect 0 holdfast fence show "$at" data
  says 'below 5' 'nightly'
}

@test "raise binds to the lock of its token, and a number alone to none" {
  setup_fence
  expect 0 holdfast fence raise "$at" data 5:nightly:local/1
  expect 0 holdfast fence show "$at" data
  says 'below 5' 'nightly'
  expect 64 holdfast fence check "$at" data 9:weekly:local/1
  says 'lock weekly' 'lock nightly'
  expect 0 holdfast fence check "$at" data 5:nightly:local/1
}

@test "a resource that a bare number came to first says that it takes numbers" {
  setup_fence
  expect 0 holdfast fence check "$at" data 5
  for action in check raise; do
    expect 64 holdfast fence $action "$at" data 9:nightly:local/1
    says 'a token of lock nightly of store local/1' 'is bound to bare numbers'
    [[ $output != *unnamed* ]]
  done
  expect 0 holdfast fence show "$at" data
  says 'bound to bare numbers'
  expect 0 holdfast fence check "$at" data 9
}

@test "readers do not replace each other" {
  setup_fence
  expect 0 holdfast fence check "$at" data 5
  expect 0 holdfast fence check "$at" data 9 --shared
  expect 0 holdfast fence check "$at" data 7 --shared
  expect 77 holdfast fence check "$at" data 7
  expect 77 holdfast fence check "$at" data 4 --shared
}

@test "one file holds many resources" {
  setup_fence
  for i in 1 2 3 4 5; do expect 0 holdfast fence check "$at" "data $i" "$i"; done
  expect 77 holdfast fence check "$at" 'data 5' 4
  expect 0 holdfast fence check "$at" 'data 4' 4
}

@test "whoever only looks makes nothing" {
  setup_fence
  expect 69 holdfast fence show "$at" data
  says 'is not there; the first token that is checked or raised there makes it'
  [[ ! -e floors ]]
  expect 0 holdfast fence check "$at" data 5
  expect 69 holdfast fence show "$at" date
  says 'has no resource' 'the first token that is checked or raised there makes it'
  says 'date'
  expect 69 holdfast fence check "file:$BATS_TEST_TMPDIR/none/floors" data 5
  says "cannot open the directory $BATS_TEST_TMPDIR/none: " 'create it first'
  [[ ! -e none ]]
}

@test "wrong words are 64 and say what is right" {
  setup_fence
  expect 64 holdfast fence
  expect 64 holdfast fence chekc "$at" data 5
  says 'check, raise or show'
  expect 64 holdfast fence check "$at" data
  says HOLDFAST_FENCING_TOKEN
  expect 64 holdfast fence check "$at" data ''
  expect 64 holdfast fence show "$at" data 5
  expect 64 holdfast fence check local:/tmp data 5
  says 'file:PATH'
  expect 64 holdfast fence check file:floors data 5
  says absolute
  expect 64 holdfast fence raise "$at" data 5 --shared
  expect 64 holdfast fence raise "$at" data 5 --wait 3
  [[ ! -e floors ]]
}

@test "values that are no token are 64" {
  setup_fence
  for token in 0 007 9007199254740992 99999999999999999999999 -1 5x 5:a 0:a:b 5:a%zz:b; do
    expect 64 holdfast fence check "$at" data "$token"
  done
  for token in 9007199254740992 99999999999999999999; do
    expect 64 holdfast fence check "$at" data "$token"
    says "token $token is above 2^53 - 1"
  done
  expect 64 holdfast fence check "$at" data abc
  says 'VALUE:LOCK:STORE, or here a number alone'
  [[ ! -e floors ]]
}

@test "run --fenced names a fence that cannot be used, and does not wait for it" {
  for where in "file:$PWD/none/floors" file:floors; do
    code=69
    [[ $where == *none* ]] || code=64
    expect "$code" timeout 20 "$HOLDFAST" run x --wait 1h --fenced "$where" -- touch ran
    says '--fenced: '
  done
  echo notes >floors
  expect 65 holdfast run x --fenced "file:$PWD/floors" -- touch ran
  says '--fenced: ' 'not a floor file'
  [[ ! -e none && ! -e ran ]]
}

@test "a limit on the size of files ends no verb without a word" {
  setup_fence
  expect 69 bash -c 'ulimit -f 1 && exec timeout 60 "$@"' - "$HOLDFAST" fence check "$at" data 5
  says 'ulimit -f' floors
  expect 0 holdfast fence check "$at" data 5
}

@test "a damaged file is 65 and is not touched" {
  setup_fence
  echo notes >floors
  expect 65 holdfast fence check "$at" data 5
  says 'not a floor file'
  [[ $(cat floors) == notes ]]
  rm floors
  expect 0 holdfast fence check "$at" data 5
  sed -i 's/^version 1$/version 2/' floors
  expect 65 holdfast fence check "$at" data 6
  says 'another version'
  sed -i 's/^version 2$/version 1/' floors
  for page in 1 2; do
    printf X | dd of=floors bs=1 seek=$((page * 4096 + 16)) conv=notrunc status=none
  done
  expect 65 holdfast fence check "$at" data 6
  says 'both copies'
  expect 65 holdfast fence check "$at" data 6 --json
  json 'assert a["error"]["code"] == "damaged" and a["error"]["exit"] == 65'
}

# As a writer of an older token would: src/fence/floor_locks.hpp. $writer is one until it is killed.
write_with_an_older_token() {
  rm -f writes
  python3 -c 'import fcntl, time
f = open("floors", "r+b")
fcntl.lockf(f, fcntl.LOCK_SH, 1000, (1 << 60) + 1)
open("writes", "w").close()
time.sleep(60)' 3>&- &
  writer=$!
  until_true test -e writes
}

@test "a guardian that is killed while its run waits at the fence ran nothing, and that is 69" {
  setup_fence
  expect 0 holdfast run x --fenced "$at" -- true
  # It waits for five seconds at most, which may be over too soon.
  for ((tries = 0, code = 75; code == 75 && tries < 5; tries++)); do
    write_with_an_older_token
    code=0
    in_background run x --fenced "$at" -- touch ran 2>said
    until_true eval "holdfast show x | grep -q held" || true
    kill -KILL "$(pgrep -P $pid)" || true
    kill "$writer"
    wait $pid || code=$?
  done
  output=$(<said)
  says 'the guardian was killed before the command started; nothing was run [unavailable]'
  [[ $code == 69 && ! -e ran ]]
}

# steps: those that the audit log has, in their order.
steps() { python3 -c 'import json; print(*[json.loads(l)["step"] for l in open("audit")])'; }

@test "deny --raise-fence refuses the old token and frees the lock at once" {
  setup_fence
  hold_it --fenced "$at" --ttl 30s
  token=$(holdfast ls --json | grep -o '"token":[0-9]*' | grep -o '[0-9]*')
  expect 0 holdfast deny x --raise-fence "$at" --audit audit --why test
  says 'is denied' "token $token is refused" 'free now'
  expect 0 holdfast run x --no-wait -- true
  expect 77 holdfast fence check "$at" x "$token"
  [[ $(steps) == 'begun denied raised freed' ]]
  : >go
  wait "$holder" || [[ $? == 76 ]]
}

@test "the reason of deny --raise-fence is in the audit log, as its help says" {
  setup_fence
  hold_it --fenced "$at" --ttl 30s 2>said
  expect 0 holdfast deny x --raise-fence "$at" --audit audit --why 'hangs since noon'
  grep -q '"why":"hangs since noon"' audit
  : >go
  wait "$holder" || [[ $? == 76 ]]
  expect 0 holdfast deny --help
  [[ $output =~ 'with --raise-fence'[[:space:]]+'it is in the audit log, and seldom shown' ]]
}

@test "deny --raise-fence --dry-run changes nothing" {
  setup_fence
  hold_it --fenced "$at" --ttl 30s
  token=$(holdfast ls --json | grep -o '"token":[0-9]*' | grep -o '[0-9]*')
  expect 0 holdfast deny x --raise-fence "$at" --audit audit --dry-run
  says 'dry run'
  [[ ! -e audit ]]
  expect 0 holdfast fence check "$at" x "$token"
  expect 75 holdfast run x --no-wait -- true
  : >go
  wait "$holder"
}

@test "deny --raise-fence is refused without run --fenced, and without an audit log" {
  setup_fence
  hold_it --ttl 30s
  expect 64 holdfast deny x --raise-fence "$at" --audit audit
  says 'without a fence, so it cannot be replaced at file:'
  expect 69 holdfast deny x --raise-fence "$at" --audit none/audit
  says 'nothing was done'
  mkdir folder
  ln -s floors link
  for file in none/audit folder link; do
    expect 69 holdfast deny x --raise-fence "$at" --audit $file --dry-run
    says 'cannot open the audit log' 'nothing was done'
  done
  expect 64 holdfast deny x --dry-run
  : >go
  wait "$holder"
}

@test "a floor that cannot be raised leaves the lock to its ttl" {
  setup_fence
  hold_it --fenced "$at" --ttl 30s
  echo notes >floors
  expect 65 holdfast deny x --raise-fence "$at" --audit audit
  [[ $(steps) == 'begun failed' ]]
  expect 75 holdfast run x --no-wait -- true
  : >go
  wait "$holder"
}

@test "deny --raise-fence --json that fails half-way says what was done" {
  setup_fence
  hold_it --fenced "$at" --ttl 30s
  write_with_an_older_token
  expect 75 holdfast deny x --raise-fence "$at" --audit audit --wait 100ms --json
  json 'assert a["done"] == [{"step": "denied"}] and a["error"]["exit"] == 75, a'
  kill "$writer"
  : >go
  wait "$holder" || [[ $? == 76 ]]
}

@test "deny --raise-fence is refused at another file of the same name" {
  setup_fence
  hold_it --fenced "$at" --ttl 30s
  mv floors elsewhere
  expect 69 holdfast deny x --raise-fence "$at" --audit audit
  [[ ! -e floors ]]
  expect 0 holdfast fence check "$at" x 1
  expect 64 holdfast deny x --raise-fence "$at" --audit audit
  expect 75 holdfast run x --no-wait -- true
  : >go
  wait "$holder"
}
