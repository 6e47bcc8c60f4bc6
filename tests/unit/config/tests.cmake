# SPDX-License-Identifier: Apache-2.0
skein_test(unit/config/test_config.c LINK skein_config skein_test_support skein_alloc_fail)

# The files that are shipped fit the daemon that reads them, and the schema is the table's.
function(skein_shipped program file)
    if(NOT TARGET ${program})
        return()
    endif()
    add_test(NAME unit/config/${file}_is_right
        COMMAND ${program} --config ${CMAKE_SOURCE_DIR}/config/${file}.json --check-config)
    add_test(NAME unit/config/${file}_schema_is_the_table
        COMMAND sh -c "\"$1\" --print-schema | cmp - \"$2\"" sh
            $<TARGET_FILE:${program}> ${CMAKE_SOURCE_DIR}/config/${file}.schema.json)
    set_tests_properties(unit/config/${file}_is_right unit/config/${file}_schema_is_the_table
        PROPERTIES LABELS unit TIMEOUT 30)
endfunction()
skein_shipped(skein-agent agent)
