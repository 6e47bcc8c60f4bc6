# SPDX-License-Identifier: Apache-2.0
if(TARGET skein_wasm)
    skein_program(bench_wasm FILES wasm.c bench_trace.c bench_host.c
        LINK skein_test_port skein_trace_api skein_format skein_common)
    target_compile_definitions(bench_wasm PRIVATE WASM_READ="${CMAKE_CURRENT_LIST_DIR}/wasm_read.mjs"
        WASM_MODULE="${CMAKE_BINARY_DIR}/wasm/trace.wasm")
    add_dependencies(bench_wasm skein_wasm)
endif()
