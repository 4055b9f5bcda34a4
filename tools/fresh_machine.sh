#!/usr/bin/env bash
# Runs a command in a new clone of HEAD, as on a machine that has never seen this project:
#
#   tools/fresh_machine.sh make demo test     # the two commands of the README
#
# The home folder is empty, pip has no cache, no virtual environment is active, and PATH has the system's folders alone:
# what a developer's machine has by chance cannot stand in for a step that is missing. What says how the network is
# reached is kept. The clone is removed afterwards. KEEP_CLONE=1 keeps it, for a look at what failed.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if (($# == 0)); then
    echo "usage: $0 COMMAND [ARGUMENT ...]" >&2
    exit 2
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/penstock-fresh.XXXXXX")
trap 'if [[ -n ${KEEP_CLONE:-} ]]; then echo "==> kept: $folder" >&2; else rm -rf "$folder"; fi' EXIT
mkdir "$folder/home"
if [[ -n $(git -C "$top" status --porcelain) ]]; then
    echo "==> not committed, and so not in the clone:" >&2
    git -C "$top" status --short >&2
fi
git clone --quiet "$top" "$folder/penstock"

kept=()
for name in PIP_CONFIG_FILE PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_CERT PIP_DEFAULT_TIMEOUT SSL_CERT_FILE REQUESTS_CA_BUNDLE \
    http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY LANG TERM CI; do
    if [[ -v $name ]]; then kept+=("$name=${!name}"); fi
done
echo "==> in a new clone, with an empty home, no pip cache and a minimal PATH: $*"
cd "$folder/penstock"
env -i "${kept[@]}" HOME="$folder/home" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PIP_NO_CACHE_DIR=1 "$@"
