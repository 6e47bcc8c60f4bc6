# SPDX-License-Identifier: Apache-2.0
skein_program(bench_pack FILES pack.c LINK skein_format skein_common)
