#!/usr/bin/env bats

load setup

# Every verb that looks into the store says so; the message names the file and what to do.
is_damaged() {
  local verb
  for verb in ls 'show x' 'run x -- true' watch; do
    expect 65 holdfast $verb
    [[ $output == *"$1"*"$2"*"$3"*'[damaged]' ]] || { echo "$verb: $output"; return 1; }
  done
}

@test "a database that was overwritten is 65, and left as it is" {
  expect 0 holdfast run x -- true
  size=$(stat -c %s store/data.mdb)
  head -c "$size" /dev/urandom >store/data.mdb
  before=$(sha256sum store/data.mdb)
  is_damaged "$PWD/store/data.mdb" 'not an LMDB file' "then remove $PWD/store/boot: "
  [[ $(sha256sum store/data.mdb) == "$before" ]]
}

@test "a database whose pages were overwritten behind its head is 65, not a crash" {
  expect 0 holdfast run x -- true
  pages=$(($(stat -c %s store/data.mdb) / 4096))
  dd if=/dev/urandom of=store/data.mdb bs=4096 seek=2 count=$((pages - 2)) conv=notrunc status=none
  is_damaged "$PWD/store/data.mdb" 'its page' "then remove $PWD/store/boot: "
}

@test "a database that was cut is 65" {
  expect 0 holdfast run x -- true
  truncate -s 8192 store/data.mdb
  is_damaged "$PWD/store/data.mdb" 'ends after 8192 bytes' "then remove $PWD/store/boot: "
}

# write_fenced: one fenced write, which prints its token.
write_fenced() {
  expect 0 holdfast run x -- sh -c \
    '"$HOLDFAST" fence check "file:$PWD/floors" data "$HOLDFAST_FENCING_TOKEN" &&
     echo "token $HOLDFAST_TOKEN"'
  token=$(sed -n 's/^token //p' <<<"$output")
}

@test "what the message of a damaged store advises leaves fenced resources usable" {
  export HOLDFAST
  for damage in ': >' 'head -c 32768 /dev/urandom >' 'truncate -s 8192'; do
    for file in data.mdb shared; do
      write_fenced
      before=$token
      eval "$damage store/$file"
      expect 65 holdfast ls
      says 'what is held is forgotten, and tokens go on' 'docs/fence.md'
      advised=$(sed -n 's/.*then remove \([^:]*\):.*/\1/p' <<<"$output")
      rm "$advised"
      write_fenced
      ((token > before))
    done
  done
  mv store elsewhere
  expect 0 holdfast run x -- true
  expect 64 holdfast run x -- \
    sh -c '"$HOLDFAST" fence check "file:$PWD/floors" data "$HOLDFAST_FENCING_TOKEN"'
  says 'tokens of different locks or stores cannot be compared'
}

@test "a damaged store is not begun anew under a process that uses it" {
  hold_it
  head -c 32768 /dev/urandom >store/data.mdb
  rm store/boot
  expect 65 holdfast ls
  says "$PWD/store/boot is missing, and processes use the store"
  kill_all_marked
  expect 0 holdfast run x --no-wait -- true
}

@test "a newer format is 65 and is not touched" {
  expect 0 holdfast run x -- true
  printf 'holdfast local store\nversion 2\n' >store/format
  before=$(sha256sum store/data.mdb store/format)
  is_damaged "$PWD/store" 'another version' 'Use the program that made it'
  [[ $(sha256sum store/data.mdb store/format) == "$before" ]]
}

@test "somebody else's directory is 65 and is not touched" {
  rm -rf store
  mkdir -m 700 store
  echo precious >store/thesis.txt
  is_damaged "$PWD/store" 'thesis.txt' 'Choose another directory'
  [[ $(ls -A store) == thesis.txt ]]
}

@test "a shared directory that is no store is not to be changed, whatever its mode" {
  mkdir shared
  : >shared/notes
  chmod 1777 shared
  for words in 'run x -- true' ls doctor; do
    expect 65 holdfast ${words%% *} --store "local:$PWD/shared" ${words#"${words%% *}"}
    says 'is not empty (it has notes)' "such as local:$PWD/shared/holdfast"
    [[ $output != *chmod* ]]
  done
  [[ $(ls -A shared) == notes ]]
  rm shared/notes
  expect 69 holdfast run x --store "local:$PWD/shared" -- true
  says 'mode 1777' "such as local:$PWD/shared/holdfast"
  [[ $output != *chmod* && -z $(ls -A shared) ]]
}

@test "damage is an error object with --json, and a fault for doctor" {
  expect 0 holdfast run x -- true
  head -c 32768 /dev/urandom >store/data.mdb
  expect 65 holdfast ls --json
  python3 -c 'import json, sys
e = json.loads(sys.argv[1])["error"]
assert e["code"] == "damaged" and e["exit"] == 65 and "data.mdb" in e["message"], e' "$output"
  expect 65 holdfast doctor
  [[ $output == *data.mdb* ]]
}
