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
endif()
