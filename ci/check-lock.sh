#!/usr/bin/env bash
# Holds an MCP server to its lock. The GitHub Action and the pre-commit hook run
# this and nothing else.
#
# With arguments, they are those of `aegis check` (the hook). Without any, the
# environment says what to check (the action):
#
#   AEGIS_LOCK     the lock, warden.lock if empty
#   AEGIS_COMMAND  the server's command, one argument a line
#   AEGIS_KEY      the public key that must have signed the lock; none if empty
#   AEGIS_SARIF    where findings go; nowhere if empty
#   AEGIS          the aegis to run, the one in PATH if empty
#
# Exit: that of aegis check. 0 as pinned, 1 drift, 2 anything else.
set -euo pipefail

aegis=${AEGIS:-aegis}
if ! command -v -- "$aegis" >/dev/null; then
  echo "error: there is no $aegis; install aegis or name it in AEGIS" >&2
  exit 2
fi
if [ $# -gt 0 ]; then
  exec "$aegis" check "$@"
fi

# A line is an argument as it stands: nothing here is split, expanded or
# evaluated, whatever is in it. An empty line is none.
command=()
while IFS= read -r line || [ -n "$line" ]; do
  line=${line%$'\r'}
  if [ -n "$line" ]; then command+=("$line"); fi
done <<<"${AEGIS_COMMAND:-}"
if [ ${#command[@]} -eq 0 ]; then
  echo "error: no command: give the server's, one argument a line" >&2
  exit 2
fi

lock=${AEGIS_LOCK:-warden.lock}
flags=(--lock "$lock")
if [ -n "${AEGIS_KEY:-}" ]; then flags+=(--key "$AEGIS_KEY"); fi
if [ -n "${AEGIS_SARIF:-}" ]; then
  if [[ $AEGIS_SARIF -ef $lock ]]; then
    echo "error: the file for SARIF is the lock" >&2
    exit 2
  fi
  # What an earlier run found must not be uploaded as what this one did.
  rm -f -- "$AEGIS_SARIF"
  flags+=(--sarif "$AEGIS_SARIF")
fi

code=0
"$aegis" check "${flags[@]}" -- "${command[@]}" || code=$?
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  if [ -n "${AEGIS_SARIF:-}" ] && [ -s "$AEGIS_SARIF" ]; then
    echo "sarif=written" >>"$GITHUB_OUTPUT"
  fi
  echo "exit-code=$code" >>"$GITHUB_OUTPUT"
fi
exit "$code"
