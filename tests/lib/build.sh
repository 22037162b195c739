# Checks of the sources, and builds. Sourced by tests/run.

wanted() { # NAME: whether --only lets it run
    local part
    [ ${#only[@]} -eq 0 ] && return 0
    for part in "${only[@]}"; do
        [[ $1 == *"$part"* ]] && return 0
    done
    return 1
}

# Whether --only leaves anything to do with a build: where its parts name presets, only those are built.
preset_wanted() { # PRESET
    local part named=no
    for part in "${only[@]}"; do
        case $part in
        *"$1"*) return 0 ;;
        *tidy*) [ "$1" = release ] && return 0; named=yes ;;
        *release* | *debug* | *asan* | *tsan* | *fuzz*) named=yes ;;
        esac
    done
    [ $named = no ]
}

# Sources of ours, by extension: those git knows, or all where this is not a clone.
sources() {
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -- "$@"
    else
        local names=(-false) pattern
        for pattern in "$@"; do names+=(-o -name "$pattern"); done
        find . -path ./build -prune -o -type f \( "${names[@]}" \) -print
    fi
}

check_sources() {
    section "sources"
    if wanted format; then
        if sources '*.c' '*.h' '*.cc' | xargs -r clang-format-19 --dry-run -Werror >"$logs/format.log" 2>&1; then
            pass format
        else
            fail format "clang-format-19 -i would change: $(grep -oE '^[^:]+' "$logs/format.log" | sort -u | grep -E '\.(c|h|cc)$' |
                head -n 12 | tr '\n' ' ')"
        fi
    fi
    if wanted layers; then
        if $python tests/check-layers >"$logs/layers.log" 2>&1; then
            pass layers "$(tail -n 1 "$logs/layers.log")"
        else
            fail layers "an arrow points back" "$logs/layers.log"
        fi
    fi
}

build_preset() { # PRESET: configures and builds all of it
    local preset=$1 log=$logs/build-$1.log began=$SECONDS
    section "build $preset"
    if ! timeout -k 10 300 cmake --preset "$preset" -D LOOM_STRICT=ON >"$log" 2>&1 </dev/null; then
        fail "build-$preset" "cmake failed" "$log"
        return 1
    fi
    if ! timeout -k 10 1500 cmake --build --preset "$preset" -j "$jobs" >>"$log" 2>&1 </dev/null; then
        fail "build-$preset" "the build failed" "$log"
        return 1
    fi
    pass "build-$preset" "$((SECONDS - began)) s"
}

# Compiler-based lint of what the release build compiles, tests and generated files aside. It costs about two seconds a
# file: what is not done within the time is named as skipped. Each commit begins with other files, so that all are seen
# in turn; --long sees all at once.
tidy() {
    wanted tidy && [ -e build/release/build.ninja ] || return 0
    section "clang-tidy"
    local log=$logs/tidy.log files
    mapfile -t files < <(sources '*.c' '*.cc' | grep -vE '(^|/)(test|tests|bench|fuzz)/')
    local seconds=${LOOM_TIDY_SECONDS:-300}
    [ $tier = long ] && seconds=${LOOM_TIDY_SECONDS:-3600}
    printf '%s\0' "${files[@]}" | shuf -z --random-source=<(git log -1 2>/dev/null; yes) |
        timeout -k 10 "$seconds" xargs -0 -r -n 1 -P "$jobs" clang-tidy-19 --quiet -p build/release >"$log" 2>&1
    local status=$?
    if grep -qE '(error|warning): .*\[' "$log"; then
        grep -E '(error|warning): ' "$log" >"$logs/tidy-found.log"
        fail tidy "$(grep -cE 'error: .*\[' "$log") findings" "$logs/tidy-found.log"
    elif [ $status -eq 124 ]; then
        skip tidy "time was out before all ${#files[@]} files were seen; nothing found until then"
    elif [ $status -ne 0 ]; then
        fail tidy "clang-tidy failed" "$log"
    else
        pass tidy "${#files[@]} files"
    fi
}
