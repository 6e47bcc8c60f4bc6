# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_store_io.c LINK skein_server_core skein_test_partition)
target_link_options(t_fault_store_io PRIVATE
    LINKER:--wrap=segment_io_write,--wrap=segment_io_sync,--wrap=segment_io_truncate
    LINKER:--wrap=segment_io_create,--wrap=segment_io_sync_folder,--wrap=segment_io_remove)
