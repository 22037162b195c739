# Flags that every target shares: language, warnings, sanitizers, linker. What differs by preset comes in as the cache
# variables LOOM_SANITIZE (none, address, thread) and LOOM_FUZZ (ON, OFF), set by CMakePresets.json.

set(LOOM_SANITIZE "none" CACHE STRING "none, address (with undefined behaviour) or thread")
set_property(CACHE LOOM_SANITIZE PROPERTY STRINGS none address thread)
option(LOOM_FUZZ "Build the libFuzzer targets" OFF)
option(LOOM_STRICT "A target whose dependencies are missing is an error, not a warning" OFF)

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
# casacore 3.5.0 compiles as C++17, not as C++20.
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# Asserts stay on in release builds: they guard what our own code guarantees, and a wrong image costs more than a branch.
foreach(language C CXX)
    set(CMAKE_${language}_FLAGS_RELEASE "-O2 -g1 -D_FORTIFY_SOURCE=2")
    set(CMAKE_${language}_FLAGS_DEBUG "-O0 -g -DLOOM_DEBUG_CHECKS=1")
    # Sanitized builds: optimised enough to be quick, with every checker of the debug build.
    set(CMAKE_${language}_FLAGS_SANITIZE "-O1 -g -fno-omit-frame-pointer -DLOOM_DEBUG_CHECKS=1")
endforeach()

add_compile_definitions(_GNU_SOURCE)
# The interpreter and generated code must round alike, so the host compiler may not fuse on its own.
add_compile_options(-ffp-contract=off -fno-math-errno -fno-strict-aliasing -fstack-protector-strong)
add_compile_options(-Wall -Wextra -Werror -Wshadow -Wvla -Wpointer-arith -Wwrite-strings -Wundef -Wformat=2 -Wno-format-nonliteral
                    -Wimplicit-fallthrough -Wfloat-conversion)
add_compile_options("$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>")

if(LOOM_SANITIZE STREQUAL "address")
    # Without "function": it reads the word before the function called, which for generated code need not be mapped.
    set(LOOM_SANITIZER_FLAGS -fsanitize=address,undefined -fno-sanitize=function -fno-sanitize-recover=all)
elseif(LOOM_SANITIZE STREQUAL "thread")
    set(LOOM_SANITIZER_FLAGS -fsanitize=thread)
endif()
if(LOOM_FUZZ)
    list(APPEND LOOM_SANITIZER_FLAGS -fsanitize=fuzzer-no-link)
endif()
add_compile_options(${LOOM_SANITIZER_FLAGS})
add_link_options(${LOOM_SANITIZER_FLAGS} -Wl,--as-needed)

find_program(LOOM_CCACHE ccache)
if(LOOM_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${LOOM_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${LOOM_CCACHE})
endif()
find_program(LOOM_LLD ld.lld-19)
if(LOOM_LLD)
    add_link_options(--ld-path=${LOOM_LLD})
endif()
