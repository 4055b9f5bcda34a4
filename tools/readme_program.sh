#!/usr/bin/env bash
# Follows the README in a folder of one's own: installs what is given (this folder, or a wheel) with pip into a new
# environment, and runs the README's program there from an empty folder.
#
#   tools/readme_program.sh [WHAT_TO_INSTALL]
#
# NO_COMPILER=1 makes every C++ compiler fail, as for somebody who has a wheel and none.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
what=${1:-$top}
python=${PYTHON:-python3}
PATH=${PATH//"$top/.venv/bin:"/} # make puts it there; the reader has no such thing

folder=$(mktemp -d "${TMPDIR:-/tmp}/penstock-readme.XXXXXX")
trap 'rm -rf "$folder"' EXIT
if [[ -n ${NO_COMPILER:-} ]]; then
    mkdir "$folder/no-compiler"
    for name in c++ g++ clang++ cc gcc clang cmake ninja; do
        printf '#!/bin/sh\necho "%s: there is no compiler on this machine" >&2\nexit 1\n' "$name" > "$folder/no-compiler/$name"
        chmod +x "$folder/no-compiler/$name"
    done
    export PATH=$folder/no-compiler:$PATH CC=cc CXX=c++
fi

echo "==> installing $what into a new environment: 570 MB to download, of which PySpark is 456"
"$python" -m venv "$folder/env"
"$folder/env/bin/python" -m pip --disable-pip-version-check install "$what"

mkdir "$folder/empty"
cd "$folder/empty"
# The first Python block of the README is the program that it tells the reader to run.
sed -n '/^```python$/,/^```$/{/^```/!p;/^```$/q}' "$top/README.md" > wordcount.py
echo "==> penstock run wordcount.py --workers 3"
env -u PYTHONPATH "$folder/env/bin/penstock" run wordcount.py --workers 3 | tee "$folder/output"
grep -q "wordcount" "$folder/output" || { echo "penstock run said nothing of the topology" >&2; exit 1; }
