#!/usr/bin/env bash
# The tests of the native data plane with a plane that is built with a sanitizer: `tools/sanitize_plane.sh address|thread`
# and what pytest is to run. Kills and faults among them: worker processes inherit the sanitizer.
#
# Only our extension has the sanitizer's checks, the interpreter has not. So its runtime is loaded before everything else,
# with the library of C++, whose exceptions it wants to see; and Python takes its memory from malloc, where an access beyond
# its end is seen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
sanitizer=$1
shift
case $sanitizer in
    address) runtime=libasan.so ;;
    thread) runtime=libtsan.so ;;
    *) echo "wanted address or thread, got $sanitizer" >&2; exit 2 ;;
esac

# An environment that has everything of .venv but our package: a path in a .pth file brings no editable install with it.
environment=build/plane-$sanitizer
if [[ ! -x $environment/bin/python ]]; then
    .venv/bin/python -m venv "$environment"
    .venv/bin/python -c 'import site; print(site.getsitepackages()[0])' > "$("$environment/bin/python" -c \
        'import site; print(site.getsitepackages()[0])')/penstock-dependencies.pth"
fi
"$environment/bin/python" -m pip install --quiet --no-deps --no-build-isolation --force-reinstall . \
    -C "cmake.define.PENSTOCK_SANITIZE=$sanitizer" -C cmake.define.PENSTOCK_CHAOS=ON

launcher=()
# See CMakeLists.txt.
if [[ $sanitizer == thread ]] && setarch -R true 2>/dev/null; then launcher=(setarch -R); fi
# Leaks are the interpreter's, which frees little at its end; what we leak is found by tests that count.
exec env \
    LD_PRELOAD="$("${CXX:-c++}" -print-file-name=$runtime) $("${CXX:-c++}" -print-file-name=libstdc++.so)" \
    PYTHONMALLOC=malloc \
    ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    TSAN_OPTIONS="halt_on_error=1:report_signal_unsafe=0:die_after_fork=0:detect_deadlocks=0:suppressions=$PWD/tools/tsan.supp" \
    "${launcher[@]}" "$environment/bin/python" -m pytest "$@"
