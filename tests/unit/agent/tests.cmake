# SPDX-License-Identifier: Apache-2.0
# A collector for tests of agents; LINK skein_fake_collector.
add_library(skein_fake_collector STATIC ${CMAKE_SOURCE_DIR}/tests/support/fake_collector.c)
target_include_directories(skein_fake_collector PUBLIC ${CMAKE_SOURCE_DIR}/tests/support)
target_compile_options(skein_fake_collector PRIVATE -Wno-format-nonliteral)
target_link_libraries(skein_fake_collector PRIVATE skein_flags PUBLIC skein_transport skein_protocol skein_test_support)

skein_test(unit/agent/test_durable.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_spool.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_agent_invariants.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_capture_recover.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_capture_saved.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_agent_state.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_roster_file.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_uplink_clock.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_uplink_data.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_uplink_seal.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_uplink.c LINK skein_agent_core skein_fake_collector LABELS tsan)
skein_test(unit/agent/test_target_result.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_capture_job.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_policy_spec.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_rule_condition.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_outside.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_proc_info.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_look_apart.c LINK skein_agent_core skein_test_support LABELS tsan)
skein_test(unit/agent/test_evidence.c LINK skein_agent_core skein_test_support LABELS tsan)
target_link_options(t_unit_agent_evidence PRIVATE LINKER:--wrap=clock_monotonic_ns)
skein_test(unit/agent/test_go_source.c LINK skein_agent_core skein_http_client skein_test_support
    LABELS tsan)
skein_test(unit/agent/test_thread_dump.c LINK skein_agent_core skein_test_support)
target_compile_definitions(t_unit_agent_thread_dump PRIVATE
    SKEIN_SYMBOLIZER="$<TARGET_FILE:skein-symbolizer>")
add_dependencies(t_unit_agent_thread_dump skein-symbolizer)
skein_test(unit/agent/test_proc_load.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_checks.c LINK skein_agent_core skein_test_support LABELS tsan)
skein_test(unit/agent/test_check_place.c LINK skein_agent_core skein_test_support)

# Names and walks. The libraries are as a service's would be: optimised, with debug information.
foreach(plugin symbol_plugin.c symbol_plugin_cpp.cpp symbol_plugin_lld.c)
    get_filename_component(name ${plugin} NAME_WE)
    string(REPLACE _lld "" source ${plugin})
    add_library(${name} SHARED ${CMAKE_CURRENT_LIST_DIR}/${source})
    target_compile_options(${name} PRIVATE -O2 -g -fno-sanitize=all)
    target_link_options(${name} PRIVATE LINKER:--build-id=sha1)
endforeach()
target_link_options(symbol_plugin_lld PRIVATE -fuse-ld=lld)
foreach(test symbolizer symbol_child symbol_unwind)
    skein_test(unit/agent/test_${test}.c LINK skein_agent_core skein_test_support ${CMAKE_DL_LIBS} LABELS tsan)
    target_compile_definitions(t_unit_agent_${test} PRIVATE
        SKEIN_SYMBOLIZER="$<TARGET_FILE:skein-symbolizer>"
        SYMBOL_PLUGIN="$<TARGET_FILE:symbol_plugin>"
        SYMBOL_PLUGIN_CPP="$<TARGET_FILE:symbol_plugin_cpp>"
        SYMBOL_PLUGIN_LLD="$<TARGET_FILE:symbol_plugin_lld>")
    add_dependencies(t_unit_agent_${test} skein-symbolizer symbol_plugin symbol_plugin_cpp symbol_plugin_lld)
endforeach()
# A program without unwind tables.
add_executable(symbol_bare ${CMAKE_CURRENT_LIST_DIR}/symbol_bare.c)
target_compile_definitions(symbol_bare PRIVATE _GNU_SOURCE)
target_compile_options(symbol_bare PRIVATE -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-sanitize=all)
add_custom_command(TARGET symbol_bare POST_BUILD COMMAND
    ${CMAKE_OBJCOPY} --remove-section .eh_frame --remove-section .eh_frame_hdr --strip-debug $<TARGET_FILE:symbol_bare>)
target_compile_definitions(t_unit_agent_symbol_unwind PRIVATE SYMBOL_BARE="$<TARGET_FILE:symbol_bare>")
add_dependencies(t_unit_agent_symbol_unwind symbol_bare)
skein_test(unit/agent/test_process_maps.c LINK skein_agent_core skein_test_support)
target_link_options(t_unit_agent_process_maps PRIVATE LINKER:--build-id=sha1)
skein_test(unit/agent/test_symbol_demangle.c LINK skein_symbol_serve skein_test_support)
target_include_directories(t_unit_agent_symbolizer PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/format)
# Walks must not depend on frame pointers.
target_sources(t_unit_agent_symbol_unwind PRIVATE ${CMAKE_CURRENT_LIST_DIR}/symbol_chain.c)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/symbol_chain.c PROPERTIES
    COMPILE_OPTIONS "-O1;-fomit-frame-pointer;-fno-optimize-sibling-calls;-fno-sanitize=all")

# The agent as a process, with a service of its own.
foreach(service agent_subject agent_forker)
    add_executable(${service} ${CMAKE_CURRENT_LIST_DIR}/${service}.c)
    target_link_libraries(${service} PRIVATE skein_flags skein_static)
endforeach()
add_library(skein_test_agent STATIC ${CMAKE_CURRENT_LIST_DIR}/agent_daemon.c)
target_compile_options(skein_test_agent PRIVATE -Wno-format-nonliteral)
target_include_directories(skein_test_agent PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(skein_test_agent PUBLIC
    SKEIN_AGENT="$<TARGET_FILE:skein-agent>" AGENT_SUBJECT="$<TARGET_FILE:agent_subject>"
    AGENT_FORKER="$<TARGET_FILE:agent_forker>")
target_link_libraries(skein_test_agent PRIVATE skein_flags PUBLIC skein_format skein_fake_collector)
add_dependencies(skein_test_agent skein-agent agent_subject agent_forker)
skein_test(unit/agent/test_agent.c LONG LINK skein_agent_core skein_test_agent)
skein_test(unit/agent/test_agent_scope.c LINK skein_test_agent)
skein_test(unit/agent/test_agent_privacy.c LINK skein_test_agent skein_ring)
skein_test(unit/agent/test_agent_checks.c LINK skein_test_agent)
skein_test(unit/agent/test_agent_rules.c LONG LINK skein_test_agent)

# Rings: attach, read, cut.
skein_test(unit/agent/test_cut_helper.c LINK skein_agent_core skein_test_support LABELS tsan)
skein_test(unit/agent/test_cutter.c LINK skein_agent_core skein_static skein_test_support)
skein_test(unit/agent/test_rule_scan.c LINK skein_agent_core skein_static skein_test_support LABELS tsan)
skein_test(unit/agent/test_ring_decode.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_ring_quick.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_ring_stacks.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_cut_chain.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_cut_verdict.c LINK skein_agent_core skein_static skein_test_support)
skein_test(unit/agent/test_cut_model.c LINK skein_agent_core skein_test_support)
foreach(symbol host_page_line host_page_snapshot host_page_switch ring_piece_copy lseek)
    target_link_options(t_unit_agent_cut_model PRIVATE LINKER:--wrap=${symbol})
endforeach()
skein_test(unit/agent/test_cut_hostile.c LINK skein_agent_core skein_test_support)
target_link_options(t_unit_agent_cut_hostile PRIVATE LINKER:--wrap=partition_writer_finish)
foreach(test cut_chain cut_verdict)
    target_link_options(t_unit_agent_${test} PRIVATE LINKER:--wrap=host_page_line)
endforeach()
skein_test(unit/agent/test_attach.c LONG LINK skein_agent_core skein_test_support LABELS tsan)
skein_test(unit/agent/test_attach_names.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_roster.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_ring_hold.c LINK skein_agent_core skein_test_support)
target_link_options(t_unit_agent_ring_hold PRIVATE LINKER:--wrap=clock_gettime)
skein_test(unit/agent/test_attach_ring.c LINK skein_agent_core skein_static skein_test_support)
skein_test(unit/agent/test_ring_backing.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_ring_budget.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_worker.c LINK skein_agent_core skein_alloc_fail skein_test_support LABELS tsan)
skein_test(unit/agent/test_loop.c LINK skein_agent_core skein_test_support LABELS tsan)
skein_test(unit/agent/test_host_page.c LINK skein_agent_core skein_test_support)

# Vitals: how the host and each process is.
skein_test(unit/agent/test_proc_host.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_vitals_store.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_thread_rows.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_host_look.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_vitals.c LINK skein_agent_core skein_test_support LABELS tsan)
skein_test(unit/agent/test_files_source.c LINK skein_agent_core skein_test_support)

# What ran: samples of CPUs.
skein_test(unit/agent/test_perf_record.c LINK skein_agent_core skein_test_support)
add_executable(cpu_burner ${CMAKE_CURRENT_LIST_DIR}/cpu_burner.c)
target_link_libraries(cpu_burner PRIVATE skein_flags)
# skein_flags ask for frame pointers, hence none of them here.
add_executable(cpu_burner_frameless ${CMAKE_CURRENT_LIST_DIR}/cpu_burner.c)
target_compile_options(cpu_burner_frameless PRIVATE -O2 -fomit-frame-pointer)
target_compile_definitions(cpu_burner_frameless PRIVATE _GNU_SOURCE BURN_FRAMELESS)
target_link_libraries(cpu_burner_frameless PRIVATE Threads::Threads)
skein_test(unit/agent/test_cpu_samples.c LINK skein_agent_core skein_test_support m)
target_compile_definitions(t_unit_agent_cpu_samples PRIVATE
    CPU_BURNER="$<TARGET_FILE:cpu_burner>" CPU_BURNER_FRAMELESS="$<TARGET_FILE:cpu_burner_frameless>"
    SKEIN_SYMBOLIZER="$<TARGET_FILE:skein-symbolizer>")
add_dependencies(t_unit_agent_cpu_samples cpu_burner cpu_burner_frameless skein-symbolizer)
if(TEST unit/agent/cpu_samples)
    set_tests_properties(unit/agent/cpu_samples PROPERTIES RUN_SERIAL TRUE) # it takes all CPUs from others
endif()

# The scheduler's records: the kernel's own where it lets us.
skein_test(unit/agent/test_sched_page.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_sched_source.c TRACEFS LINK skein_agent_core skein_test_support)

# How processes end: as the kernel tells of it, where it lets us.
add_executable(crash_subject ${CMAKE_CURRENT_LIST_DIR}/crash_subject.c)
target_compile_options(crash_subject PRIVATE -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls
    -fno-sanitize=all)
target_link_options(crash_subject PRIVATE -fno-sanitize=all) # whose runtimes handle faults
target_compile_definitions(crash_subject PRIVATE _GNU_SOURCE)
target_link_libraries(crash_subject PRIVATE Threads::Threads)
skein_test(unit/agent/test_crash.c TRACEFS LINK skein_agent_core skein_test_support LABELS tsan)
target_compile_definitions(t_unit_agent_crash PRIVATE
    CRASH_SUBJECT="$<TARGET_FILE:crash_subject>" SKEIN_SYMBOLIZER="$<TARGET_FILE:skein-symbolizer>")
add_dependencies(t_unit_agent_crash crash_subject skein-symbolizer)
skein_test(unit/agent/test_signal_record.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_last_words.c LINK skein_agent_core skein_test_support)
