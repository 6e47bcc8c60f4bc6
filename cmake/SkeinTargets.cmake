# SPDX-License-Identifier: Apache-2.0
# The functions with which every folder declares its targets, so that flags are set in one place.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(NANOMSG REQUIRED IMPORTED_TARGET nanomsg)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(GNUTLS REQUIRED IMPORTED_TARGET gnutls)
pkg_check_modules(SQLITE3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw)
pkg_check_modules(DEBUGINFOD REQUIRED IMPORTED_TARGET libdebuginfod)
pkg_check_modules(LIBEDIT REQUIRED IMPORTED_TARGET libedit)
if(SKEIN_TESTS)
    pkg_check_modules(CHECK REQUIRED IMPORTED_TARGET check)
    find_program(LLD_PROGRAM ld.lld)
    if(NOT LLD_PROGRAM)
        message(FATAL_ERROR "The tests need lld, which some of them are linked with: tools/deps.sh installs it")
    endif()
endif()

# The date of the man pages; SOURCE_DATE_EPOCH, where it is set.
string(TIMESTAMP SKEIN_DATE "%Y-%m-%d" UTC)

add_library(skein_flags INTERFACE)
target_compile_definitions(skein_flags INTERFACE _GNU_SOURCE SKEIN_VERSION_TEXT="${PROJECT_VERSION}")
target_compile_options(skein_flags INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wpointer-arith -Wcast-qual -Wformat=2 -Wundef -Wvla
    -fno-strict-overflow -fno-omit-frame-pointer -fstack-protector-strong
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition>)
if(SKEIN_WERROR)
    target_compile_options(skein_flags INTERFACE -Werror)
endif()
if(SKEIN_SANITIZE)
    add_compile_options(-fsanitize=${SKEIN_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${SKEIN_SANITIZE})
    # With -O1 and checks in between, gcc takes a text that is cut on purpose for a slip: what it warns
    # of there is seen better by the release build.
    target_compile_options(skein_flags INTERFACE $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>)
endif()
if(SKEIN_FUZZ_ENGINE)
    # The libraries under test tell the engine which way a run went, too.
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
target_link_libraries(skein_flags INTERFACE Threads::Threads)

# skein_library(name [DOOR a.h...] FILES a.c... [LINK lib...]): a static library of this tree. With a
# door, others find the headers of that alone, and only if they link it: another include does not
# compile.
function(skein_library name)
    cmake_parse_arguments(A "" "" "DOOR;FILES;LINK" ${ARGN})
    add_library(${name} STATIC ${A_FILES})
    set(found ${CMAKE_CURRENT_SOURCE_DIR})
    if(A_DOOR)
        set(found ${CMAKE_BINARY_DIR}/doors/${name})
        file(REMOVE_RECURSE ${found})
        file(MAKE_DIRECTORY ${found})
    endif()
    foreach(header IN LISTS A_DOOR)
        if(header MATCHES "_int\\.h$")
            message(FATAL_ERROR "${name}: ${header} is for the room alone, by its name")
        endif()
        file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${header} ${found}/${header} SYMBOLIC)
    endforeach()
    target_include_directories(${name} PUBLIC ${found})
    target_link_libraries(${name} PRIVATE skein_flags PUBLIC ${A_LINK})
endfunction()

# skein_room(name DOOR a.h... FILES a.c... [LINK lib...]): a folder of a daemon as such a library.
function(skein_room name)
    skein_library(${name} ${ARGN})
    # Who holds which lock: server/control/control.h.
    target_compile_options(${name} PRIVATE $<$<C_COMPILER_ID:Clang>:-Wthread-safety>)
    set_property(GLOBAL APPEND PROPERTY SKEIN_ROOMS ${name})
endfunction()

# skein_rooms(name folder...): adds the rooms NAME_FOLDER, where name is skein_X_core and the rooms are
# skein_X_FOLDER. name itself is for tests and benches, which look inside of all of them.
function(skein_rooms name)
    string(REGEX REPLACE "core$" "" prefix ${name})
    add_library(${name} INTERFACE)
    foreach(room IN LISTS ARGN)
        add_subdirectory(${room})
        target_link_libraries(${name} INTERFACE ${prefix}${room})
        target_include_directories(${name} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/${room})
    endforeach()
endfunction()

# skein_program(name FILES a.c [LINK lib...] [INSTALL]): an executable of this tree.
function(skein_program name)
    cmake_parse_arguments(A "INSTALL" "" "FILES;LINK" ${ARGN})
    add_executable(${name} ${A_FILES})
    target_link_libraries(${name} PRIVATE skein_flags ${A_LINK})
    if(A_INSTALL)
        install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endfunction()

# skein_daemon_page(name): the man page of a daemon, made from the tables that its --help is made of.
function(skein_daemon_page name)
    set(page ${CMAKE_CURRENT_BINARY_DIR}/${name}.8)
    add_custom_command(OUTPUT ${page} COMMAND ${name} --print-man > ${page} DEPENDS ${name} VERBATIM)
    add_custom_target(${name}_page ALL DEPENDS ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
endfunction()

# A test's program, unless these labels are not asked for.
function(skein_test_wanted target)
    if(NOT "${ARGN}" MATCHES "${SKEIN_TEST_LABELS}")
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    endif()
endfunction()

# skein_test(path/test_x.c [TRACEFS] [LONG] [LINK lib...] [LABELS l...]): a check program below
# tests/. TRACEFS: it is mounted for the test where it is not. LONG: it is begun before others. The time
# limit only ends one that hangs: a machine with ten others at work is slow, and no failure.
# The ctest name is the path without test_ and .c: unit/format/bytes. Labels default to the path's
# first folder, so `ctest -L unit` and `ctest -L stress` select by kind.
function(skein_test file)
    cmake_parse_arguments(A "TRACEFS;LONG" "" "LINK;LABELS" ${ARGN})
    get_filename_component(dir ${file} DIRECTORY)
    get_filename_component(base ${file} NAME_WE)
    string(REGEX REPLACE "^test_" "" short ${base})
    string(REPLACE "/" "_" target "t_${dir}_${short}")
    string(REGEX REPLACE "/.*" "" kind ${file})
    add_executable(${target} ${CMAKE_SOURCE_DIR}/tests/${file})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
    target_compile_options(${target} PRIVATE -Wno-format-nonliteral)
    target_link_libraries(${target} PRIVATE skein_flags ${A_LINK} skein_test_mark PkgConfig::CHECK)
    skein_test_wanted(${target} ${kind} ${A_LABELS})
    set(command ${target})
    if(A_TRACEFS)
        set(command ${CMAKE_SOURCE_DIR}/tests/support/with_tracefs.sh $<TARGET_FILE:${target}>)
    endif()
    add_test(NAME ${dir}/${short} COMMAND ${command})
    set_tests_properties(${dir}/${short} PROPERTIES TIMEOUT 600 LABELS "${kind};${A_LABELS}")
    if(A_LONG OR kind MATCHES "crash|e2e|fault")
        set_tests_properties(${dir}/${short} PROPERTIES COST 10)
    endif()
    # Daemons mostly wait; what stands alone keeps a processor busy, and takes two of the places that
    # there are (three for each processor).
    if(NOT dir MATCHES "crash|e2e|fault|agent|server")
        set_tests_properties(${dir}/${short} PROPERTIES PROCESSORS 2)
    endif()
    # What a collector answers in these is held against the OpenAPI document (tests/contract).
    if(SKEIN_CONTRACT AND A_LINK MATCHES "skein_test_(collector|whole)")
        set_tests_properties(${dir}/${short} PROPERTIES FIXTURES_REQUIRED contract)
    endif()
endfunction()

# skein_fuzz(name [LINK lib...]): tests/fuzz/fuzz_<name>.c with the corpus tests/fuzz/corpus/<name>/.
# With SKEIN_FUZZ_ENGINE it is a libFuzzer binary; else it replays the files it is given (ctest does).
function(skein_fuzz name)
    cmake_parse_arguments(A "" "" "LINK" ${ARGN})
    set(sources ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_${name}.c)
    if(NOT SKEIN_FUZZ_ENGINE)
        list(APPEND sources ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_replay.c)
    endif()
    add_executable(fuzz_${name} ${sources})
    target_link_libraries(fuzz_${name} PRIVATE skein_flags ${A_LINK})
    if(SKEIN_FUZZ_ENGINE)
        target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    else()
        skein_test_wanted(fuzz_${name} fuzz)
        add_test(NAME fuzz/${name} COMMAND fuzz_${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
        set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 600 PROCESSORS 2)
    endif()
endfunction()
