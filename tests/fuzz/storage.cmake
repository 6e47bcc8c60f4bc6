# SPDX-License-Identifier: Apache-2.0
skein_fuzz(segment LINK skein_server_core)
if(NOT SKEIN_FUZZ_ENGINE) # each run opens real files twice and syncs them
    set_tests_properties(fuzz/segment PROPERTIES TIMEOUT 300)
endif()
