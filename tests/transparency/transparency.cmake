# SPDX-License-Identifier: Apache-2.0
# Programs under the tracer against the same programs alone. Here those that are soon over;
# `.ci/run transparency` runs all of them, the racy ones a hundred times.
if(TARGET skein-preload AND NOT SKEIN_SANITIZE)
    add_executable(transparency_subject ${CMAKE_CURRENT_LIST_DIR}/subject.c
        ${CMAKE_CURRENT_LIST_DIR}/subject_calls.c ${CMAKE_CURRENT_LIST_DIR}/subject_crashes.c
        ${CMAKE_CURRENT_LIST_DIR}/subject_memory.c
        ${CMAKE_CURRENT_LIST_DIR}/subject_stacks.c)
    target_compile_options(transparency_subject PRIVATE -Wno-nonnull)
    target_link_libraries(transparency_subject PRIVATE skein_flags)
    add_test(NAME transparency/quick COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_LIST_DIR}/transparency.py --quick
        --skein $<TARGET_FILE:skein_cli> --preload $<TARGET_FILE:skein-preload> --agent $<TARGET_FILE:skein-agent>
        --subject $<TARGET_FILE:transparency_subject>)
    set_tests_properties(transparency/quick PROPERTIES LABELS e2e TIMEOUT 300 COST 20)
endif()
