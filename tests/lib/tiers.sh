# The kinds of tests. Sourced by tests/run.

unit_tests() { # PRESET
    local preset=$1 folder=$logs/unit-$1 result name detail pattern=.
    wanted unit || [ ${#only[@]} -gt 0 ] || return 0
    section "unit tests ($preset)"
    mkdir -p "$folder"
    if [ ${#only[@]} -gt 0 ] && ! wanted "unit-$preset"; then
        pattern=$(IFS='|'; echo "${only[*]#"$preset/"}")
    fi
    timeout -k 10 900 ctest --test-dir "build/$preset" -L unit -R "$pattern" -j "$jobs" --timeout 300 \
        --output-junit "$folder/results.xml" --test-output-size-passed 1048576 --test-output-size-failed 1048576 \
        >"$folder/ctest.log" 2>&1 </dev/null
    if [ ! -s "$folder/results.xml" ]; then
        fail "unit-$preset" "ctest did not end" "$folder/ctest.log"
        return 1
    fi
    $python tests/lib/ctest_results.py "$folder/results.xml" "$folder" >"$folder/results.txt" || {
        fail "unit-$preset" "no results of ctest" "$folder/ctest.log"
        return 1
    }
    if [ ! -s "$folder/results.txt" ]; then
        [ ${#only[@]} -gt 0 ] || fail "unit-$preset" "there are no tests" "$folder/ctest.log"
        return 1
    fi
    while IFS=$'\t' read -r result name detail; do
        case $result in
        pass) pass "$preset/$name" "$detail" ;;
        skip) skip "$preset/$name" "$detail" ;;
        *) fail "$preset/$name" "$detail" "$folder/$name.log" ;;
        esac
    done <"$folder/results.txt"
}

# The value of "# KEY: value" among the comments at the top of a script.
header() { # SCRIPT KEY DEFAULT
    local value
    value=$(sed -n "1,40{s/^# $2: *//p}" "$1" | head -n 1)
    echo "${value:-$3}"
}

in_tier() { # SCRIPT
    case $(header "$1" tier default) in
    default) return 0 ;;
    ci) [ $tier != default ] ;;
    long) [ $tier = long ] ;;
    *) return 0 ;;
    esac
}

integration_test() { # SCRIPT LABEL BIN [TIME FACTOR]
    local script=$1 name bin=$3 limit log last status began=$SECONDS
    name=$2/$(basename "${script%.*}")
    log=$logs/$name.log
    mkdir -p "$(dirname "$log")"
    limit=$(($(header "$script" timeout 300) * ${4:-1}))
    LOOM_TMP=$(mktemp -d)
    GRIDLOOM_BIN=$bin LOOM_TIER=$tier LOOM_TMP=$LOOM_TMP TMPDIR=$LOOM_TMP XDG_CACHE_HOME=$LOOM_TMP/cache \
        $python tests/lib/clean_exec.py "$limit" "$script" >"$log" 2>&1
    status=$?
    chmod -R u+rwX "$LOOM_TMP" 2>/dev/null
    rm -rf "$LOOM_TMP"
    last=$(tail -n 1 "$log")
    case $status in
    0) case $last in
        ok) pass "$name" "$((SECONDS - began)) s" ;;
        skipped:*) skip "$name" "${last#skipped: }" ;;
        *) fail "$name" "ended without saying ok" "$log" ;;
        esac ;;
    124) fail "$name" "no end after $limit s" "$log" ;;
    125) fail "$name" "left processes running" "$log" ;;
    *) fail "$name" "exit status $status" "$log" ;;
    esac
}

integration_tests() { # LABEL BIN
    local script
    section "integration tests ($1)"
    for script in tests/integration/*.py tests/integration/*.sh; do
        [ -x "$script" ] || continue
        wanted "$1/$(basename "$script")" || continue
        in_tier "$script" && integration_test "$script" "$1" "$2"
    done
}

# Reports go to files: a child whose standard error nobody reads must not lose one. Leaks and undefined behaviour do not
# fail a Criterion test, so whatever is in these files does.
sanitized_tests() { # asan | tsan
    local preset=$1 reports=$logs/$1-reports script
    mkdir -p "$reports"
    export ASAN_OPTIONS="log_path=$reports/asan:detect_stack_use_after_return=1:strict_string_checks=1"
    export UBSAN_OPTIONS="log_path=$reports/ubsan:print_stacktrace=1"
    export LSAN_OPTIONS="suppressions=$root/tests/sanitizers/lsan.supp:print_suppressions=0"
    export TSAN_OPTIONS="log_path=$reports/tsan:suppressions=$root/tests/sanitizers/tsan.supp:second_deadlock_stack=1"
    ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-19 || true)
    export ASAN_SYMBOLIZER_PATH TSAN_SYMBOLIZER_PATH=$ASAN_SYMBOLIZER_PATH
    unit_tests "$preset"
    for script in tests/integration/*.py tests/integration/*.sh; do
        [ -x "$script" ] || continue
        [[ " $(header "$script" sanitize none) " == *" $preset "* ]] || continue
        wanted "$preset/$(basename "$script")" || continue
        in_tier "$script" && integration_test "$script" "$preset" "$root/build/$preset/bin" 4
    done
    unset ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS ASAN_SYMBOLIZER_PATH TSAN_SYMBOLIZER_PATH
    local found
    found=$(find "$reports" -type f -size +0 | sort)
    if [ -n "$found" ]; then
        fail "$preset-reports" "$(wc -l <<<"$found") sanitizer reports in ${reports#"$root"/}" "$(head -n 1 <<<"$found")"
    else
        pass "$preset-reports" "empty"
    fi
}

fuzz_one() { # NAME CORPUS SECONDS: runs one fuzzer; its result goes to a file, as several run at a time
    local name=$1 corpus=$2 seconds=$3 folder=$logs/fuzz/$1 executed status
    mkdir -p "$folder/found" "$folder/grown"
    [ -d "$corpus" ] || corpus=
    timeout -k 10 $((seconds + 60)) "build/fuzz/bin/fuzz/$name" -max_total_time="$seconds" -timeout=20 \
        -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$folder/found/" "$folder/grown" ${corpus:+"$corpus"} \
        >"$folder/log" 2>&1 </dev/null
    status=$?
    executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/log")
    if [ $status -ne 0 ]; then
        echo "fail $name exit status $status, input in ${folder#"$root"/}/found" >"$folder/result"
    elif [ "${executed:-0}" -lt 1000 ]; then
        echo "fail $name only ${executed:-0} inputs in $seconds s" >"$folder/result"
    else
        echo "pass $name $executed inputs in $seconds s" >"$folder/result"
    fi
}

fuzzers() {
    local seconds=${LOOM_FUZZ_SECONDS:-60} name share corpus result detail
    [ $tier = long ] && seconds=${LOOM_FUZZ_SECONDS:-600}
    section "fuzzers ($seconds s each)"
    while read -r name share corpus; do
        wanted "$name" || continue
        [ $tier = long ] && share=1 # ten minutes are enough for each
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
        fuzz_one "$name" "$corpus" $((share * seconds)) &
    done <build/fuzz/fuzzers.txt
    wait
    while read -r name share corpus; do
        wanted "$name" || continue
        read -r result name detail <"$logs/fuzz/$name/result"
        case $result in
        pass) pass "fuzz/$name" "$detail" ;;
        *) fail "fuzz/$name" "$detail" "$logs/fuzz/$name/log" ;;
        esac
    done <build/fuzz/fuzzers.txt
}

# Programs that tests/NAME generates, judged by itself. The seeds are the same in each run, but for --long, which goes on to others.
generated_by() {
    local name=$1 seconds=$2 least=$3 seed=1 log=$logs/$1.log last status
    wanted "$name" || return 0
    [ $tier = long ] && seconds=$4 seed=$(date +%s)000
    section "generated programs: $name ($seconds s)"
    GRIDLOOM_BIN=$root/build/release/bin $python tests/lib/clean_exec.py $((seconds + 300)) \
        "tests/$name" --seconds "$seconds" --seed "$seed" --keep "$logs/$name" >"$log" 2>&1
    status=$?
    last=$(tail -n 1 "$log")
    if [ $status -ne 0 ]; then
        fail "$name" "exit status $status, programs in ${logs#"$root"/}/$name" "$log"
    elif ! [[ $last =~ ^([0-9]+)\ passed,\ 0\ failed$ ]] || [ "${BASH_REMATCH[1]}" -lt "$least" ]; then
        fail "$name" "too few programs in $seconds s" "$log"
    else
        pass "$name" "${BASH_REMATCH[1]} programs in $seconds s"
    fi
}

# Compiled against interpreted, and what shape analysis claims against what happens.
generated_programs() {
    generated_by fuzz-weft "${LOOM_WEFT_SECONDS:-480}" 20 1200
    generated_by claims "${LOOM_CLAIMS_SECONDS:-60}" 100 600
}
