# SPDX-License-Identifier: Apache-2.0
# A sanitizer's runtime must be the first library of a program, so that nothing can be preloaded
# into programs that were built without it: these tests run in plain builds.
if(TARGET skein-preload AND NOT SKEIN_SANITIZE)
    foreach(kind IN ITEMS "" _fortified)
        add_executable(preload_subject${kind} ${CMAKE_CURRENT_LIST_DIR}/preload_subject.c)
        target_compile_definitions(preload_subject${kind} PRIVATE _GNU_SOURCE)
        target_compile_options(preload_subject${kind} PRIVATE -Wall -Wno-unused-result -Wno-nonnull)
        target_link_libraries(preload_subject${kind} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    endforeach()
    add_library(preload_plugin MODULE ${CMAKE_CURRENT_LIST_DIR}/preload_plugin.c)
    target_link_libraries(preload_plugin PRIVATE skein_flags Threads::Threads)
    target_compile_options(preload_subject_fortified PRIVATE -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    skein_test(unit/preload/test_preload.c)
    add_dependencies(t_unit_preload_preload preload_subject preload_subject_fortified
        preload_plugin skein-preload)
    target_compile_definitions(t_unit_preload_preload PRIVATE
        PRELOAD="$<TARGET_FILE:skein-preload>"
        PLUGIN="$<TARGET_FILE:preload_plugin>"
        SUBJECT="$<TARGET_FILE:preload_subject>"
        SUBJECT_FORTIFIED="$<TARGET_FILE:preload_subject_fortified>")

    # Programs that cannot be traced, or only in part.
    foreach(kind IN ITEMS plain static go asan other_libc)
        add_executable(preload_${kind} ${CMAKE_CURRENT_LIST_DIR}/preload_go.c)
    endforeach()
    target_compile_definitions(preload_plain PRIVATE NO_NOTE)
    target_compile_definitions(preload_static PRIVATE NO_NOTE)
    target_link_options(preload_static PRIVATE -static)
    target_compile_definitions(preload_asan PRIVATE NO_NOTE)
    target_compile_options(preload_asan PRIVATE -fsanitize=address)
    target_link_options(preload_asan PRIVATE -fsanitize=address)
    target_compile_definitions(preload_other_libc PRIVATE NO_NOTE)
    set(other_linker ${CMAKE_CURRENT_BINARY_DIR}/other_linker.so) # the test puts it there
    target_link_options(preload_other_libc PRIVATE -Wl,--dynamic-linker=${other_linker})
    add_executable(preload_waits ${CMAKE_CURRENT_LIST_DIR}/preload_waits.c)
    target_compile_definitions(preload_waits PRIVATE _GNU_SOURCE)
    target_compile_options(preload_waits PRIVATE -Wall -O2 -fomit-frame-pointer)
    target_link_libraries(preload_waits PRIVATE Threads::Threads)
    skein_test(unit/preload/test_preload_run.c LINK skein_ring_support skein_static)
    add_dependencies(t_unit_preload_preload_run skein_cli skein-preload preload_static preload_go preload_asan
        preload_other_libc preload_waits)
    target_include_directories(t_unit_preload_preload_run PRIVATE ${CMAKE_SOURCE_DIR}/client-lib/include)
    target_compile_definitions(t_unit_preload_preload_run PRIVATE
        SKEIN="$<TARGET_FILE:skein_cli>" PRELOAD="$<TARGET_FILE:skein-preload>"
        STATIC="$<TARGET_FILE:preload_static>" GO="$<TARGET_FILE:preload_go>"
        ASAN="$<TARGET_FILE:preload_asan>" WAITS="$<TARGET_FILE:preload_waits>"
        OTHER_LIBC="$<TARGET_FILE:preload_other_libc>" OTHER_LINKER="${other_linker}")

    add_executable(preload_starts ${CMAKE_CURRENT_LIST_DIR}/preload_starts.c)
    target_compile_definitions(preload_starts PRIVATE _GNU_SOURCE)
    target_link_libraries(preload_starts PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    target_compile_options(preload_starts PRIVATE -Wall -Wno-unused-result -Wno-nonnull -Wno-stringop-overread)
    add_executable(preload_started ${CMAKE_CURRENT_LIST_DIR}/preload_go.c)
    target_compile_definitions(preload_started PRIVATE NO_NOTE)
    set(started_linker ${CMAKE_CURRENT_BINARY_DIR}/started_linker.so) # of this test alone
    target_link_options(preload_started PRIVATE -Wl,--dynamic-linker=${started_linker})
    add_executable(preload_starter ${CMAKE_CURRENT_LIST_DIR}/preload_starter.c)
    target_link_options(preload_starter PRIVATE -static)
    skein_test(unit/preload/test_preload_starts.c LINK skein_test_support)
    add_dependencies(t_unit_preload_preload_starts skein_cli skein-preload preload_plain preload_static
        preload_go preload_asan preload_starts preload_started preload_starter)
    target_compile_definitions(t_unit_preload_preload_starts PRIVATE
        SKEIN="$<TARGET_FILE:skein_cli>" PRELOAD="$<TARGET_FILE:skein-preload>"
        PLAIN="$<TARGET_FILE:preload_plain>" STATIC="$<TARGET_FILE:preload_static>"
        GO="$<TARGET_FILE:preload_go>" ASAN="$<TARGET_FILE:preload_asan>"
        STARTS="$<TARGET_FILE:preload_starts>" STARTER="$<TARGET_FILE:preload_starter>"
        OTHER_LIBC="$<TARGET_FILE:preload_started>" OTHER_LINKER="${started_linker}")

    # Programs of Debian, which know what they do.
    skein_test(unit/preload/test_preload_words.c LINK skein_ring_support skein_static)
    add_dependencies(t_unit_preload_preload_words skein-preload transparency_subject)
    target_include_directories(t_unit_preload_preload_words PRIVATE ${CMAKE_SOURCE_DIR}/client-lib/include)
    target_compile_definitions(t_unit_preload_preload_words PRIVATE
        PRELOAD="$<TARGET_FILE:skein-preload>" SUBJECT="$<TARGET_FILE:transparency_subject>")

    # The wrappers themselves are in this program, without the library's beginning.
    add_library(preload_calls SHARED ${CMAKE_CURRENT_LIST_DIR}/preload_calls.c
        ${CMAKE_CURRENT_LIST_DIR}/preload_calls_words.c)
    target_compile_definitions(preload_calls PRIVATE _GNU_SOURCE)
    target_compile_options(preload_calls PRIVATE -Wall -U_FORTIFY_SOURCE
        -Wno-unused-result -Wno-nonnull
        -fno-optimize-sibling-calls) # a wrapper looks at its return address
    target_link_libraries(preload_calls PRIVATE Threads::Threads)
    skein_test(unit/preload/test_preload_events.c
        LINK skein_ring_support preload_calls skein_static ${CMAKE_DL_LIBS})
    target_sources(t_unit_preload_preload_events PRIVATE
        $<FILTER:$<TARGET_OBJECTS:skein-preload>,EXCLUDE,preload_main>)
    target_include_directories(t_unit_preload_preload_events PRIVATE
        ${CMAKE_SOURCE_DIR}/client-lib/preload ${CMAKE_SOURCE_DIR}/client-lib/include)
    target_compile_definitions(t_unit_preload_preload_events PRIVATE
        SKEIN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" PRELOAD="$<TARGET_FILE:skein-preload>")
    set_target_properties(t_unit_preload_preload_events PROPERTIES ENABLE_EXPORTS ON)
endif()
