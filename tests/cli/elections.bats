#!/usr/bin/env bats

load setup

# lead VALUE [OPTION...]: leads the election head until the file `go` is there. Its pid is in
# $leader.
lead() {
  local value=$1
  shift
  in_background elect head --value "$value" "$@" -- "${until_go[@]}"
  leader=$pid
}

leads() { [[ $("$HOLDFAST" leader head) == "$1" ]]; }

@test "nobody leads, then one does, and its value is told" {
  expect 75 holdfast leader head
  says 'nobody leads "head"'
  # An answer, and no failure that would have a name.
  [[ $output != *']'* ]]
  expect 75 holdfast leader head --json
  [[ ${lines[0]} == *'"leader":null'* ]]
  lead host-a:80
  until_true leads host-a:80
  expect 0 holdfast leader head
  [[ $output == host-a:80 ]]
  expect 0 holdfast leader head --json
  python3 -c 'import json, sys
l = json.loads(sys.argv[1])["leader"]
assert l["value"] == "host-a:80" and l["term"] > 0 and len(l["session"]) == 32, l' "${lines[0]}"
  : >go
  wait $leader
  expect 75 holdfast leader head
}

@test "a holder that publishes nothing is told as that, and not as an empty line" {
  in_background run head -- "${until_go[@]}"
  until_true test -e held
  expect 69 holdfast leader head
  says 'leader "head"' 'publishes nothing' "$pid" 'elect --value'
  expect 69 holdfast leader head --json
  : >go
  wait "$pid"
  expect 75 holdfast leader head
  rm go
  in_background run head --label host-a:80 -- "${until_go[@]}"
  until_true leads host-a:80
  : >go
  wait "$pid"
}

@test "the next candidate leads in a later term, and a watcher sees both" {
  lead a
  first=$leader
  until_true leads a
  expect 75 holdfast elect head --value b --no-wait -- true
  timeout 60 "$HOLDFAST" leader head --watch --json >seen 3>&- &
  watcher=$!
  until_true grep -q '"value":"a"' seen
  in_background elect head --value 'b b' -- \
    sh -c 'echo $HOLDFAST_TOKEN >term; until [ -e end ]; do sleep 0.05; done'
  next=$pid
  : >go
  wait $first
  until_true grep -q '"value":"b b"' seen
  : >end
  wait $next
  until_true sh -c 'tail -n 1 seen | grep -q "\"leader\":null"'
  kill $watcher
  python3 -c 'import json
terms = [l["term"] for l in (json.loads(x)["leader"] for x in open("seen")) if l]
assert terms == sorted(terms) and terms[-1] == int(open("term").read()), terms'
}

@test "who watches ends when nobody reads it any more" {
  for words in watch 'leader head --watch'; do
    [[ $(timeout 30 sh -c "'$HOLDFAST' $words; echo \$? >code" | head -n 1) ]]
    until_true test -s code
    [[ $(<code) == 141 ]]
    rm code
    (trap '' PIPE; timeout 30 sh -c "'$HOLDFAST' $words 2>said; echo \$? >code" | head -n 1)
    until_true test -s code
    [[ $(<code) == 69 ]]
    grep 'nobody reads standard output' said
    rm code
  done
}

@test "a leader that is killed is followed at once, and one that is denied is stopped" {
  lead a
  until_true leads a
  kill -KILL $leader
  wait $leader || true
  until_true eval '"$HOLDFAST" leader head; [[ $? == 75 ]]'
  rm -f go
  lead b --ttl 2s
  until_true leads b
  expect 0 holdfast deny head --why test
  code=0
  wait $leader || code=$?
  [[ $code == 76 ]]
}

@test "a value that could not be told in one line is refused" {
  expect 64 holdfast elect head --value "$(printf 'x%.0s' {1..257})" -- true
  says '257 bytes'
  expect 64 holdfast elect head --value $'a\nb' -- true
  says 'control characters'
  expect 64 holdfast elect head -- true
  says '--value'
  expect 64 holdfast elect head --value a
  says 'holdfast elect head --value a -- COMMAND'
  expect 64 holdfast elect head --value a --shared -- true
  expect 64 holdfast leader $'a\nb'
}
