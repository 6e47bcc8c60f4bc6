# SPDX-License-Identifier: Apache-2.0
# Timed code is compiled as a service would compile it, whatever the build type.
skein_program(bench_emit FILES bench_emit.c emit_peer.c LINK skein_ring_support skein_static)
set_source_files_properties(bench_emit.c PROPERTIES COMPILE_OPTIONS -O2)

find_path(LTTNG_UST_INCLUDE lttng/tracepoint.h)
find_library(LTTNG_UST_LIBRARY lttng-ust)
find_program(LTTNG_SESSIOND lttng-sessiond)
if(LTTNG_UST_INCLUDE AND LTTNG_UST_LIBRARY AND LTTNG_SESSIOND)
    # Their macros do not hold to our warnings, hence no skein_flags here.
    add_executable(bench_emit_lttng emit_lttng.c)
    target_include_directories(bench_emit_lttng PRIVATE
        ${CMAKE_CURRENT_SOURCE_DIR} ${LTTNG_UST_INCLUDE})
    target_compile_options(bench_emit_lttng PRIVATE -O2)
    target_link_libraries(bench_emit_lttng PRIVATE
        ${LTTNG_UST_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})
    target_compile_definitions(bench_emit PRIVATE
        SKEIN_HAVE_LTTNG SKEIN_LTTNG_SUBJECT="$<TARGET_FILE:bench_emit_lttng>")
    add_dependencies(bench_emit bench_emit_lttng)
endif()
