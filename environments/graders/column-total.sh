# Grades `total.sh` in the workspace: the share of hidden cases that it gets right, written to $CORRAL_SCORE_FILE.
#
# The model's script is untrusted, so this file never runs or reads it: `as-policy` runs it as the policy's user, with a
# few seconds and nothing of the grader's. It gets a case's input and its output comes back; the expected values never
# leave this shell, and its exit codes and words count for nothing.

passed=0
cases=0

check() { # printf format of the input, expected output
  cases=$((cases + 1))
  # shellcheck disable=SC2059
  got=$(printf "$1" | as-policy --stdin --timeout 5 sh ./total.sh 2>/dev/null)
  [ "$got" = "$2" ] && passed=$((passed + 1))
}

check 'name,amount\na,1\nb,2\n' 3
check 'name,amount\n' 0
check 'name,amount\na,10\nb,-4\nc,0\n' 6
check 'name,amount\na,2.5\nb,2.5\n' 5
check 'name,amount\n\na,1\n\nb,1\n' 2

awk -v passed="$passed" -v cases="$cases" 'BEGIN { printf "%.4f\n", passed / cases }' > "$CORRAL_SCORE_FILE"
