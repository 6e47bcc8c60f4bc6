# SPDX-License-Identifier: Apache-2.0
skein_fuzz(program LINK skein_program_kind)
target_sources(fuzz_program PRIVATE ${CMAKE_SOURCE_DIR}/client-lib/preload/preload_program.c)
target_include_directories(fuzz_program PRIVATE ${CMAKE_SOURCE_DIR}/client-lib/preload)
skein_fuzz(program_kind LINK skein_program_kind)
