/** Where things are for the script. */
export const inUnpacking = {
  blob: '/layer',
  tar: '/scratch',
  marks: '/marks',
  merged: '/merged',
  upper: '/upper',
} as const;

/** How the script ends if it cannot unpack a layer. */
export const unpackExits = {
  tooLarge: 10,
  otherContent: 11,
  unreadable: 12,
  noProgram: 13,
  tooManyOwners: 14,
  linkedParent: 15,
  /** What xargs ends with if a program of its fails. */
  unremovable: 123,
} as const;

/** How a shell says that a program got SIGKILL: mostly because memory was short. */
const killed = 137;

/** Real images have some ten. All must be known, because a grader gets an id that owns no file. */
export const mostOwners = 1_000;

/**
 * Unpacks one layer into `merged`, an overlay above the layers below it, so that the kernel writes down what the layer hides of them.
 * Nothing else can be written, so a name, a link or a `..` of the layer leads nowhere else.
 *
 *   1. counts what the layer decompresses to, up to MOST_BYTES, and asks for room (`? BYTES FILES`). A few kilobytes can hold gigabytes,
 *      so nothing is written before
 *   2. decompresses it, and compares it with what the image says of it (DIFF_ID). An image could else put other files in place of a
 *      layer that other images share
 *   3. asks for room again, now for as many files and folders as it can make
 *   4. removes what the layer hides (whiteouts), then unpacks the rest. Devices are left out: no sandbox could open one
 *   5. prints bytes, files and folders as they are, and the ids that own some of them
 *
 * A folder counts also if the layer has only what is in it: a single name can make two thousand.
 */
export const unpackScript = `
set -eu
umask 022
fail() { code=$1; shift; echo "$*" >&2; exit "$code"; }
case $(head -c 4 ${inUnpacking.blob} | od -An -tx1 | tr -d ' \\n') in
  1f8b*) unpacker=gzip ;;
  28b52ffd) unpacker=zstd ;;
  *) unpacker=cat ;;
esac
command -v "$unpacker" >/dev/null || fail ${unpackExits.noProgram} "$unpacker"
[ "$unpacker" = cat ] || unpacker="$unpacker -dc"
ask() {
  echo "? $*"
  read -r answer
  [ "$answer" = go ] || exit 1
}
tar=${inUnpacking.tar}/tar
# A program that was killed, or could not write, says nothing of the layer.
decompressed() {
  ended=0
  $unpacker < ${inUnpacking.blob} || ended=$?
  echo "$ended" > ${inUnpacking.marks}/ended
}
check_killed() { [ "$(cat ${inUnpacking.marks}/ended)" != ${killed} ] || exit 1; }
judge() {
  [ "$1" -lt 128 ] || exit 1
  fail ${unpackExits.unreadable} "$2"
}
bytes=$(decompressed | head -c "$MOST_BYTES" | wc -c)
[ "$bytes" -lt "$MOST_BYTES" ] || fail ${unpackExits.tooLarge} 'bytes'
check_killed
ask "$bytes" 0
decompressed | head -c "$bytes" > "$tar"
check_killed
[ "$(wc -c < "$tar")" = "$bytes" ] || exit 1
digest=$(sha256sum < "$tar")
[ "$digest" = "$DIFF_ID  -" ] || fail ${unpackExits.otherContent} "$digest"
read_tar() { tar --quoting-style=escape --file "$tar" "$@"; }
read_tar --list > /marks/names || judge $? 'names'
! grep -qE '(^|/)[.][.](/|$)' /marks/names || fail ${unpackExits.unreadable} 'a name with ..'
files=$(awk -F/ '{ path = ""; for (i = 1; i < NF; i++) { path = path "/" $i; if (!(path in seen)) { seen[path]; made++ } }
    own[$NF == "" ? path : path "/" $NF] }
  END { printf "" > "/marks/parents"; for (path in seen) if (!(path in own)) print "." path > "/marks/parents"
    printf "%.0f", made + NR }' < /marks/names)
ask "$bytes" "$files"
# Names as files, so that no name has to be quoted.
mkdir /marks/hidden
set --
if grep -q '^[.]wh[.]' /marks/names; then set -- '.wh.*'; fi
if grep -q '/[.]wh[.]' /marks/names; then set -- "$@" '*/.wh.*'; fi
# All of them, or what is hidden would be in the image.
[ "$#" = 0 ] || tar --file "$tar" --extract --directory /marks/hidden --no-same-owner --no-same-permissions --wildcards "$@" ||
  judge $? 'whiteouts'
cd ${inUnpacking.merged}
# Below such a link, what a layer hides would stay in the image without a word.
while IFS= read -r parent; do
  [ -L "$parent" ] || continue
  cd -P "$parent" 2>/dev/null || fail ${unpackExits.linkedParent} "$parent"
  case $PWD/ in ${inUnpacking.merged}/*) cd ${inUnpacking.merged} ;; *) fail ${unpackExits.linkedParent} "$parent" ;; esac
done < /marks/parents
find /marks/hidden -name .wh..wh..opq -printf '%P\\0' | sed -z 's:[^/]*$:.:' |
  xargs -0 -r -n 1 sh -c '[ -L "\${1%/.}" ] || [ ! -d "$1" ] || find "$1" -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +' -
find /marks/hidden -name '.wh.*' ! -name '.wh..wh.*' -printf '%P\\0' | sed -z 's:\\.wh\\.\\([^/]*\\)$:\\1:' | xargs -0 -r rm -rf --
# A file of this layer in place of a folder of those below: tar replaces anything else.
while IFS= read -r name; do
  while [ "\${name#/}" != "$name" ]; do name=\${name#/}; done
  case $name in */) continue ;; esac
  if [ -d "$name" ] && [ ! -L "$name" ]; then rm -rf -- "$name" || fail ${unpackExits.unremovable} "$name"; fi
done < /marks/names
read_tar --list --verbose --full-time --numeric-owner | sed -nE 's/^[bc][^ ]* +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ //p' > /marks/devices
tar --file "$tar" --extract --numeric-owner --same-owner --same-permissions --delay-directory-restore \\
  --anchored --no-wildcards --exclude-from /marks/devices --no-anchored --wildcards --exclude '.wh.*' || judge $? 'entries'
find ${inUnpacking.upper} -printf '%b %U %G\\n' | awk '{ blocks += $1; files++; ids[$2]; ids[$3] }
  END { for (id in ids) owners++; if (owners > ${mostOwners}) exit ${unpackExits.tooManyOwners}
    printf "%.0f %.0f", blocks * 512, files; for (id in ids) printf " %s", id; print "" }'
`;
